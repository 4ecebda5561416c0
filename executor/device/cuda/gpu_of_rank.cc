#include "executor/device/cuda/gpu_of_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

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

// The number of the rank's GPU; nothing if it uses none.
absl::StatusOr<std::optional<int>> GpuNumber(std::string_view device,
                                             const RankIdentity& identity) {
  const CudaBackend* backend = LinkedCudaBackend();
  if (device == "cpu" || device == "inline") return std::nullopt;
  if (device.empty() && backend == nullptr) return std::nullopt;
  if (backend == nullptr) return NoCudaBackend();
  // Also says what is wrong with the driver, or the number.
  const auto opened = NewDevice(device.empty() ? "cuda" : device, {});
  if (!opened.ok()) {
    if (device.empty() && absl::IsUnavailable(opened.status())) {
      return std::nullopt;
    }
    return opened.status();
  }
  if (const std::optional<int> number = CudaIndex(device);
      number && device != "cuda") {
    return number;
  }
  int count = 0;
  SPILLWAY_RETURN_IF_ERROR(CudaStatus(backend->runtime(),
                                      backend->runtime().GetDeviceCount(&count),
                                      "cudaGetDeviceCount"));
  if (identity.local_rank < count) return identity.local_rank;
  return InvalidArgument(fmt::format(
      "rank {} is number {} of {} on its host, which has {} GPU{}; start as "
      "many as there are GPUs, or let ranks share one: cuda:0",
      identity.rank, identity.local_rank, identity.local_size, count,
      count == 1 ? "" : "s"));
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
