#include "onnx_model/convert/freeze.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"

namespace spillway::onnx_model {
namespace {

constexpr size_t kMaxName = 4096;

// std::regex_search reports with an exception what it gives up on.
bool Finds(const std::regex& regex, const std::string& name) {
  try {
    return std::regex_search(name, regex);
  } catch (const std::regex_error&) {
    return false;
  }
}

}  // namespace

absl::StatusOr<FrozenNames> FrozenNames::Make(
    const std::vector<std::string>& freeze,
    const std::vector<std::string>& train_only) {
  if (!freeze.empty() && !train_only.empty()) {
    return InvalidArgument("freeze and train_only exclude each other");
  }
  FrozenNames names;
  names.is_complement_ = !train_only.empty();
  for (const std::string& text : freeze.empty() ? train_only : freeze) {
    try {
      names.expressions_.push_back({.text = text, .regex = std::regex(text)});
    } catch (const std::regex_error& error) {
      return InvalidArgument(fmt::format("'{}' is not a regular expression: {}",
                                         text, error.what()));
    }
  }
  return names;
}

absl::StatusOr<bool> FrozenNames::IsFrozen(const std::string& name) const {
  if (expressions_.empty()) return false;
  if (name.size() > kMaxName) {
    return InvalidArgument(
        fmt::format("an initializer's name has {} characters; at most {} are "
                    "searched",
                    name.size(), kMaxName));
  }
  const bool is_found =
      std::ranges::any_of(expressions_, [&](const Expression& expression) {
        return Finds(expression.regex, name);
      });
  return is_found != is_complement_;
}

absl::Status FrozenNames::CheckFinds(
    const std::vector<std::string>& names) const {
  if (expressions_.empty()) return absl::OkStatus();
  for (const Expression& expression : expressions_) {
    if (std::ranges::none_of(names, [&](const std::string& name) {
          return Finds(expression.regex, name);
        })) {
      return InvalidArgument(fmt::format(
          "'{}' finds no initializer that could be trained", expression.text));
    }
  }
  for (const std::string& name : names) {
    SPILLWAY_ASSIGN_OR_RETURN(const bool is_frozen, IsFrozen(name));
    if (!is_frozen) return absl::OkStatus();
  }
  return InvalidArgument("all variables are frozen: nothing is left to train");
}

}  // namespace spillway::onnx_model
