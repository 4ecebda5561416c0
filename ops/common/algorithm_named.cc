#include "ops/common/algorithm_named.h"

#include <fmt/format.h>

#include <string>

#include "base/status_macros.h"

namespace spillway {

absl::StatusOr<size_t> AlgorithmNamed(
    std::string_view name, const std::vector<KernelAlgorithm>& list) {
  if (name.empty()) return 0;
  std::string names;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return i;
    names += fmt::format("{}{}", i == 0 ? "" : ", ", list[i].name);
  }
  return InvalidArgument(fmt::format(
      "the node has no algorithm \"{}\" here; it has: {}", name, names));
}

}  // namespace spillway
