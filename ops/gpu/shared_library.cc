#include "ops/gpu/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"

namespace spillway {
namespace {

absl::Status LastError(const std::string& name) {
  const char* words = dlerror();  // they begin with the name, or a path of it
  return Unavailable(
      fmt::format("the GPU's kernels need the library {}: {}", name,
                  words != nullptr ? words : "no error is known"));
}

}  // namespace

SharedLibrary::SharedLibrary(std::string name) : name_(std::move(name)) {
  handle_ = dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) status_ = LastError(name_);
}

void* SharedLibrary::Address(const char* symbol) {
  if (!status_.ok()) return nullptr;
  void* const address = dlsym(handle_, symbol);
  if (address == nullptr) status_ = LastError(name_);
  return address;
}

}  // namespace spillway
