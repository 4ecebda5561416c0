#include "tools/spillway/profile_files.h"

#include "base/status_macros.h"
namespace spillway {
absl::StatusOr<DeviceProfile> ResolveProfile(const std::string& path,
                                             const DeviceFlags& flags) {
  (void)flags;
  if (path.empty()) return InvalidArgument("--profile: is needed");
  auto p = ReadDeviceProfile(path);
  if (!p.ok()) return Annotate(p.status(), "--profile");
  return p;
}
}  // namespace spillway
