#include "ops/gpu/library/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"

namespace spillway {
namespace {

// dlerror's message; it begins with the library's name or path.
std::string LastError() {
  const char* words = dlerror();
  return words != nullptr ? words : "no error is known";
}

}  // namespace

SharedLibrary::SharedLibrary(std::vector<std::string> names) {
  std::string errors;
  for (std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = std::move(name);
      return;
    }
    errors += fmt::format("{}{}", errors.empty() ? "" : "; ", LastError());
  }
  status_ = Unavailable(fmt::format("the GPU's kernels need the library {}: {}",
                                    fmt::join(names, " or "), errors));
}

void* SharedLibrary::Address(const char* symbol) {
  if (!status_.ok()) return nullptr;
  void* const address = dlsym(handle_, symbol);
  if (address == nullptr) {
    status_ = Unavailable(fmt::format(
        "the GPU's kernels need the library {}: {}", name_, LastError()));
  }
  return address;
}

std::vector<std::string> VersionedNames(std::string_view stem,
                                        int compiled_major,
                                        std::span<const int> compatible) {
  std::vector<std::string> names = {
      fmt::format("{}.so.{}", stem, compiled_major)};
  for (const int major : compatible) {
    if (major == compiled_major) continue;
    names.push_back(fmt::format("{}.so.{}", stem, major));
  }
  return names;
}

}  // namespace spillway
