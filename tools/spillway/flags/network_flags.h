// Flags for the ranks whose time is predicted, and the network among them.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_NETWORK_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_NETWORK_FLAGS_H_

#include <cstdint>
#include <vector>

#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/graph_source.h"
#include "tuner/step_options.h"

namespace spillway {

struct NetworkFlags {
  // Numbers of ranks to predict, ascending; the plan is made for the last one.
  // Empty: one rank, no table.
  std::vector<int64_t> workers = {};
  bool staged_allreduce = false;
};

// --workers, and the flags that belong to it: those of the network, and of
// what ranks exchange. Once the command line is parsed, `step` has the network
// and `source` the ranks and the exchange.
void AddNetworkFlags(FlagSet& set, NetworkFlags& flags, StepOptions& step,
                     GraphSourceFlags& source);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_NETWORK_FLAGS_H_
