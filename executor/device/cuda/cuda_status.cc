#include "executor/device/cuda/cuda_status.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>

#include "base/status_macros.h"

namespace spillway {

absl::Status CudaStatus(const CudaApi& api, CudaApi::Error error,
                        std::string_view call) {
  if (error == 0) return absl::OkStatus();
  const std::string text =
      fmt::format("{}: {} (CUDA error {})", call, api.ErrorText(error), error);
  switch (error) {
    case CudaApi::kMemoryAllocation:
      return ResourceExhausted(text);
    case CudaApi::kInsufficientDriver:
    case CudaApi::kNoDevice:
      return Unavailable(text);
    default:
      return Internal(text);
  }
}

void LogCudaFailure(const CudaApi& api, CudaApi::Error error,
                    std::string_view call) {
  if (error == 0) return;
  spdlog::warn("{}", std::string(CudaStatus(api, error, call).message()));
}

}  // namespace spillway
