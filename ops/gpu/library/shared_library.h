// A library that is opened at run time, so that the program also starts on
// machines without it.
#ifndef SPILLWAY_OPS_GPU_LIBRARY_SHARED_LIBRARY_H_
#define SPILLWAY_OPS_GPU_LIBRARY_SHARED_LIBRARY_H_

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"

namespace spillway {

// The library stays open for the lifetime of the process: its functions may be
// called at any time, even after this object was destroyed.
class SharedLibrary {
 public:
  // Opens the first of `names` that dlopen finds; each is a file name or a
  // path.
  explicit SharedLibrary(std::vector<std::string> names);

  // Sets `function` to the function called `symbol`.
  template <typename Function>
  void Find(const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(Address(symbol));
  }

  // UNAVAILABLE, with every name that was tried and dlerror's message for it,
  // if none could be opened; with the library's name if it lacks a function.
  const absl::Status& status() const { return status_; }

 private:
  void* Address(const char* symbol);

  std::string name_;  // of the opened library
  void* handle_ = nullptr;
  absl::Status status_;
};

// {"libx.so.13", "libx.so.12"}: first the major version with whose headers this
// build was compiled, then the others of `compatible`.
std::vector<std::string> VersionedNames(std::string_view stem,
                                        int compiled_major,
                                        std::span<const int> compatible);

// The process-wide state of such a library: its table of functions, and the
// handles that one of them creates, one per device. The handles are not
// destroyed when the process ends: the driver may be unloaded by then. All
// members except SetForTest require `mutex` to be held.
template <typename Api, typename Handle>
struct SharedApi {
  absl::StatusOr<Api> (*load)();
  std::mutex mutex = {};
  std::map<int, Handle> handles = {};  // by device; null: not created yet
  std::optional<absl::StatusOr<Api>> loaded = {};
  const Api* for_test = nullptr;  // replaces the library's table

  // Loads at the first call. Errors: those of `load`, the same at every call.
  absl::StatusOr<const Api*> Get() {
    if (for_test != nullptr) return for_test;
    if (!loaded) loaded = load();
    SPILLWAY_RETURN_IF_ERROR(loaded->status());
    return &**loaded;
  }

  // Destroys the handles that the previous table has created.
  void SetForTest(const Api* api) {
    const std::lock_guard lock(mutex);
    for (const auto& [device, handle] : handles) {
      if (handle != nullptr) static_cast<void>((*Get())->destroy(handle));
    }
    handles.clear();
    for_test = api;
  }
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_LIBRARY_SHARED_LIBRARY_H_
