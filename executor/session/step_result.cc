#include "executor/session/step_result.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "base/status_macros.h"

namespace spillway {

absl::StatusOr<const HostTensor*> StepResult::tensor(ValueId id) const {
  const auto found = fetched.find(id);
  if (found != fetched.end()) return &found->second;
  std::vector<std::string> ids;
  for (const auto& [fetch, tensor] : fetched) {
    ids.push_back(fmt::format("{}", fetch.value()));
  }
  return NotFound(fmt::format(
      "value {} was not fetched; name it in Program::fetches, which has: {}",
      id.value(),
      ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", "))));
}

absl::StatusOr<float> StepResult::scalar(ValueId id) const {
  SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* value, tensor(id));
  SPILLWAY_ASSIGN_OR_RETURN(const std::span<const float> elements,
                            value->span<float>());
  if (elements.size() == 1) return elements[0];
  return InvalidArgument(
      fmt::format("value {} is {}, not a single element; take tensor()",
                  id.value(), value->type.ToString()));
}

}  // namespace spillway
