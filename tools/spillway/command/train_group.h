// The devices of one process that train together, an executor group:
// --num_devices.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_GROUP_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_GROUP_H_

#include <functional>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "tools/spillway/command/train_command.h"

namespace spillway {

// Trains on one device, as one of the ranks of the communicator.
using TrainOnDevice =
    std::function<absl::Status(const TrainFlags& flags, Communicator& workers)>;

// Calls `train` for each device of this process, on a thread of its own and
// with its own device, budget and part of the cores. `processes`: those of the
// run; null: this is the only one. Returns an error of a device's own
// before what the other devices then say of it. INVALID_ARGUMENT naming
// --device if it names one of several GPUs.
absl::Status TrainOnDevices(const TrainFlags& flags, Communicator* processes,
                            const TrainOnDevice& train);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_GROUP_H_
