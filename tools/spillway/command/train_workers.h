// What `spillway train` shares with the other ranks of a run, and tells of
// them.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_WORKERS_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_WORKERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "tools/spillway/command/train_report.h"
#include "tools/spillway/command/train_setup.h"
#include "tools/spillway/output/output.h"

namespace spillway {

// Memory and variables of each rank, by rank. All ranks call it.
absl::StatusOr<Json> GatherRanks(const TrainSetup& setup,
                                 const TrainResult& result,
                                 Communicator& communicator);

// Adds world_size, rank and, of a run of several ranks, ranks[] and comm{...}
// (docs/workers.md) to the result of a training.
void AddWorkersJson(const TrainSetup& setup, const TrainResult& result,
                    const Communicator* communicator, const Json& ranks,
                    Json& json);

// The communication of the last update, and a line for each rank.
std::string FormatWorkers(const TrainFlags& flags, const TrainSetup& setup,
                          const TrainResult& result,
                          const Communicator& communicator, const Json& ranks);

// Warns if --reduce sparse is sure to move more bytes than plain.
void WarnOfManyElements(const WorkerFlags& flags,
                        const Communicator& communicator);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_WORKERS_H_
