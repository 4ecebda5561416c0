// Which GPU a rank of a run uses.
#ifndef SPILLWAY_EXECUTOR_GPU_OF_RANK_H_
#define SPILLWAY_EXECUTOR_GPU_OF_RANK_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/open_communicator.h"
#include "comm/ranks.h"

namespace spillway {

// For CommSpec::gpu, and as the name of the device: with "cuda", and with "" on
// a machine with a GPU, that of the rank's number on its host; with "cuda:1",
// that one, which ranks may share. Nothing for other devices. The GPU becomes
// this thread's current one. Errors: INVALID_ARGUMENT if the host has fewer
// GPUs than ranks; UNAVAILABLE if it has none.
absl::StatusOr<std::optional<GpuOfRank>> FindGpuOfRank(
    std::string_view device, const RankIdentity& identity);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_GPU_OF_RANK_H_
