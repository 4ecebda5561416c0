#include "ops/open_libraries.h"

#include "base/status_macros.h"
#ifdef SPILLWAY_WITH_CUDA
#include "ops/gpu/factories.h"
#endif

namespace spillway {

absl::Status OpenKernelLibraries(DeviceKind kind) {
  if (kind == DeviceKind::kCpu) return absl::OkStatus();
#ifdef SPILLWAY_WITH_CUDA
  return OpenGpuLibraries();
#else
  return Unavailable("this build has no kernels for cuda devices");
#endif
}

}  // namespace spillway
