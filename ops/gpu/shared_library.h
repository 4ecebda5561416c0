// A library that is opened while the program runs, so that the program also
// starts on machines without it.
#ifndef SPILLWAY_OPS_GPU_SHARED_LIBRARY_H_
#define SPILLWAY_OPS_GPU_SHARED_LIBRARY_H_

#include <string>

#include "absl/status/status.h"

namespace spillway {

// Stays open for the life of the process: its functions may be called at any
// time, also when this object is gone.
class SharedLibrary {
 public:
  // Found as dlopen finds it: `name` is a file name or a path.
  explicit SharedLibrary(std::string name);

  // Sets `function` to the function called `symbol`.
  template <typename Function>
  void Find(const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(Address(symbol));
  }

  // UNAVAILABLE, with the library's name and dlerror's words, if it did not
  // open or a function was not found.
  const absl::Status& status() const { return status_; }

 private:
  void* Address(const char* symbol);

  std::string name_;
  void* handle_ = nullptr;
  absl::Status status_;
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_SHARED_LIBRARY_H_
