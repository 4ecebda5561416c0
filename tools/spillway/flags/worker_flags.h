// Flags for a run of several ranks: how they communicate, and what of their
// gradients and rows.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_WORKER_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_WORKER_FLAGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "tools/spillway/flags/exchange_flags.h"
#include "tools/spillway/flags/flags.h"
#include "training/loop/micro_batches.h"
#include "training/workers/synchronize.h"

namespace spillway {

struct WorkerFlags {
  std::string comm = "auto";
  int64_t num_devices = 1;
  std::vector<double> loads = {};  // of the devices; empty: equal
  SplitRule split = SplitRule::kBalanced;
  std::string interface = {};
  double timeout_seconds = 600;
  bool deterministic_reduce = false;
  bool check_calls = false;
  double comm_gbps = 0;  // 1e9 bytes per second; 0: not slowed down
  ExchangeFlags exchange = {};
  InitSync init_sync = InitSync::kBroadcast;
  int64_t check_replicas = 0;  // updates; 0: never
  std::string lr_scale = "none";
  std::string partition = {};  // empty: as --tail says
  std::string json_all_ranks = {};
};
void AddWorkerFlags(FlagSet& set, WorkerFlags& flags);

CommOptions CommOptionsOf(const WorkerFlags& flags);

// The ranks that the launcher of this process has started; null for a process
// that is alone. `device`, of --device, becomes the GPU of this rank, if it has
// one. Errors: those of FindRank, FindGpuOfRank and OpenCommunicator, naming
// --device or --comm for what the flag could change.
absl::StatusOr<std::unique_ptr<Communicator>> OpenWorkers(
    const WorkerFlags& flags, std::string& device);

// What becomes of the rows at the end of an epoch: `tail`, unless --partition
// says otherwise.
Tail TailOf(const WorkerFlags& flags, Tail tail);

// The factor of --lr_scale on the learning rate.
double RateScale(const WorkerFlags& flags, int world_size);

// `error`, with the exit status 75, 76 or 5 if it is one of a communicator.
absl::Status WithWorkerStatus(const absl::Status& error);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_WORKER_FLAGS_H_
