#include "executor/gpu_of_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/counted.h"
#include "base/status_macros.h"
#include "executor/device/cuda/cuda_backend.h"
#include "executor/device/cuda/cuda_status.h"
#include "executor/device/registry.h"

namespace spillway {
namespace {

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

// Of this machine; none if the driver reports an error.
int CountGpus(CudaApi& runtime) {
  int count = 0;
  return runtime.GetDeviceCount(&count) == 0 ? count : 0;
}

// The number of the rank's GPU; nothing if it uses none. Opens no other GPU,
// which would take memory of it.
absl::StatusOr<std::optional<int>> GpuNumber(std::string_view device,
                                             const RankIdentity& identity) {
  const CudaBackend* backend = LinkedCudaBackend();
  const int count = backend == nullptr ? 0 : CountGpus(backend->runtime());
  const bool is_any = device.empty() && count > 0;
  const std::optional<int> named = CudaIndex(device);
  if (!is_any && !named) return std::nullopt;
  // What is missing is said as everywhere.
  if (named && *named >= count) {
    SPILLWAY_RETURN_IF_ERROR(NewDevice(device, {}).status());
  }
  if (named && device != "cuda") return named;
  if (identity.local_rank < count) return identity.local_rank;
  return InvalidArgument(fmt::format(
      "rank {} has the local rank {} of {} on its host, which has {}; start as "
      "many as there are GPUs, or let ranks share one: cuda:0",
      identity.rank, identity.local_rank, identity.local_size,
      Counted(count, "GPU")));
}

}  // namespace

absl::StatusOr<std::optional<GpuOfRank>> FindGpuOfRank(
    std::string_view device, const RankIdentity& identity) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<int> number,
                            GpuNumber(device, identity));
  if (!number) return std::nullopt;
  const CudaBackend& backend = *LinkedCudaBackend();
  CudaApi& runtime = backend.runtime();
  SPILLWAY_RETURN_IF_ERROR(
      CudaStatus(runtime, runtime.SetDevice(*number), "cudaSetDevice"));
  std::string address;
  SPILLWAY_RETURN_IF_ERROR(CudaStatus(runtime,
                                      runtime.GetPciBusId(*number, &address),
                                      "cudaDeviceGetPCIBusId"));
  GpuOfRank gpu = {.device = fmt::format("cuda:{}", *number),
                   .name = fmt::format("{} {}", HostName(), address)};
  const absl::StatusOr<NcclApi*> nccl = backend.nccl();
  if (nccl.ok()) {
    gpu.nccl = *nccl;
  } else {
    gpu.missing_nccl = std::string(nccl.status().message());
  }
  return gpu;
}

}  // namespace spillway
