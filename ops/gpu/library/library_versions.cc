#include <fmt/format.h>

#include <cstddef>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/library/cublas_lt.h"
#include "ops/gpu/library/cudnn.h"

namespace spillway {
namespace {

// Formats a version that is counted as 10000 major + 100 minor + patch.
std::string Format(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

}  // namespace

absl::StatusOr<std::string> GpuLibraries() {
  SPILLWAY_ASSIGN_OR_RETURN(const CudnnApi* cudnn, Cudnn());
  SPILLWAY_ASSIGN_OR_RETURN(const CublasLtApi* cublas_lt, CublasLt());
  return fmt::format("cuDNN {}, cuBLASLt {}", Format(cudnn->get_version()),
                     Format(cublas_lt->get_version()));
}

absl::Status OpenGpuLibraries() {
  SPILLWAY_RETURN_IF_ERROR(LockCudnn().status());
  return CublasLtHandle().status();
}

}  // namespace spillway
