// The rule for node names, checked wherever a name comes from outside.
#ifndef SPILLWAY_GRAPH_NODE_NAME_H_
#define SPILLWAY_GRAPH_NODE_NAME_H_

#include <string_view>

#include "absl/status/status.h"

namespace spillway {

// INVALID_ARGUMENT if the name is empty or has a colon (which separates a name
// from an output's index), white space or a control character in it.
absl::Status CheckNodeName(std::string_view name);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_NODE_NAME_H_
