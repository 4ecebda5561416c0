#include "training/checkpoint.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_object.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "training/safetensors.h"

namespace spillway {
namespace {

constexpr char kStepNumbers[] = "spillway.step_numbers";

// Reads the step numbers of `num_programs` programs from the metadata.
absl::StatusOr<std::vector<int64_t>> ReadStepNumbers(const Metadata& metadata,
                                                     size_t num_programs) {
  std::vector<int64_t> numbers(num_programs, 0);
  const auto text = metadata.find(kStepNumbers);
  if (text == metadata.end()) return numbers;
  SPILLWAY_ASSIGN_OR_RETURN(const auto list,
                            ParseJson(text->second, kStepNumbers));
  if (!list.is_array()) {
    return InvalidArgument(
        fmt::format("{} must be a list, not {}", kStepNumbers, text->second));
  }
  constexpr IntegerRange kStepNumber = {.least = 0, .most = int64_t{1} << 62};
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<int64_t> number = ToInteger(list[i], kStepNumber);
    if (!number) {
      return InvalidArgument(
          fmt::format("{} must hold integers from 0 to 2^62, not {}",
                      kStepNumbers, text->second));
    }
    if (i < num_programs) numbers[i] = *number;
  }
  return numbers;
}

absl::Status Load(const SafetensorsFile& file, Session& session) {
  for (const auto& [name, type] : session.variable_types()) {
    if (!file.tensors.contains(name)) {
      return InvalidArgument(
          fmt::format("has no tensor for the variable {}", name));
    }
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::vector<int64_t> step_numbers,
      ReadStepNumbers(file.metadata, session.step_numbers().size()));
  SPILLWAY_RETURN_IF_ERROR(session.WriteVariables(file.tensors));
  return session.SetStepNumbers(step_numbers);
}

}  // namespace

absl::Status SaveCheckpoint(Session& session, const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap variables, session.ReadVariables());
  const std::string numbers =
      fmt::format("[{}]", fmt::join(session.step_numbers(), ", "));
  return WriteSafetensors(path, variables, {{kStepNumbers, numbers}});
}

absl::Status LoadCheckpoint(const std::string& path, Session& session) {
  const absl::StatusOr<SafetensorsFile> file = ReadSafetensorsFile(path);
  if (absl::IsInvalidArgument(file.status())) {
    return InvalidArgument(
        fmt::format("{}; a checkpoint is needed: a safetensors file with a "
                    "tensor for each variable",
                    std::string(file.status().message())));
  }
  SPILLWAY_RETURN_IF_ERROR(file.status());
  return Annotate(Load(*file, session), path);
}

}  // namespace spillway
