#include "training/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/json.h"
#include "base/json_object.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "training/safetensors.h"

namespace spillway {
namespace {

constexpr char kStepNumbers[] = "spillway.step_numbers";
constexpr char kTraining[] = "spillway.training";
constexpr std::string_view kRank = "spillway.rank_";  // then "1/<name>"
constexpr IntegerRange kStepNumber = {.least = 0, .most = int64_t{1} << 62};

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

absl::StatusOr<std::optional<TrainingState>> ReadTraining(
    const Metadata& metadata) {
  const auto text = metadata.find(kTraining);
  if (text == metadata.end()) return std::nullopt;
  SPILLWAY_ASSIGN_OR_RETURN(const auto json,
                            ParseJson(text->second, kTraining));
  JsonObject fields(json, kTraining);
  TrainingState training;
  training.updates = fields.Integer("updates", kStepNumber);
  training.rows = fields.Text("rows");
  if (fields.Has("loss_scale")) {
    JsonObject scale = fields.Object("loss_scale");
    training.loss_scale = {.scale = scale.Number("scale"),
                           .good = scale.Integer("good"),
                           .skipped = scale.Integer("skipped")};
  }
  SPILLWAY_RETURN_IF_ERROR(fields.status());
  if (training.loss_scale) {
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(CheckLossScaleState(*training.loss_scale), kTraining));
  }
  return training;
}

absl::Status CheckNames(const TensorMap& tensors, const Session& session) {
  for (const auto& [name, type] : session.variable_types()) {
    if (!tensors.contains(name)) {
      return InvalidArgument(
          fmt::format("has no tensor for the variable {}: it is a checkpoint "
                      "of another model, or of another optimizer",
                      name));
    }
  }
  return absl::OkStatus();
}

// "spillway.rank_2/conv1/weights" -> 2 and "conv1/weights".
struct RankTensor {
  int64_t rank = 0;
  std::string name = {};
};
absl::StatusOr<RankTensor> ParseRankTensor(const std::string& name) {
  const size_t slash = name.find('/');
  RankTensor tensor;
  if (slash == std::string::npos ||
      !absl::SimpleAtoi(name.substr(kRank.size(), slash - kRank.size()),
                        &tensor.rank) ||
      tensor.rank < 1) {
    return InvalidArgument(fmt::format(
        "{}: after {} comes a rank from 1 on, and a variable", name, kRank));
  }
  tensor.name = name.substr(slash + 1);
  return tensor;
}

// Takes the values on other ranks out of `tensors`; the ranks from 1 on have
// the same variables, of the types that the session has.
absl::StatusOr<std::vector<TensorMap>> TakeOtherRanks(const Session& session,
                                                      TensorMap& tensors) {
  std::map<int64_t, TensorMap> by_rank;
  const auto begin = tensors.lower_bound(std::string(kRank));
  auto end = begin;
  for (; end != tensors.end() && end->first.starts_with(kRank); ++end) {
    SPILLWAY_ASSIGN_OR_RETURN(RankTensor tensor, ParseRankTensor(end->first));
    const auto known = session.variable_types().find(tensor.name);
    if (known == session.variable_types().end() ||
        known->second != end->second.type) {
      return InvalidArgument(
          fmt::format("{}: there is no variable {} of type {}", end->first,
                      tensor.name, end->second.type.ToString()));
    }
    by_rank[tensor.rank][tensor.name] = std::move(end->second);
  }
  tensors.erase(begin, end);
  std::vector<TensorMap> others;
  for (auto& [rank, variables] : by_rank) {
    others.push_back(std::move(variables));
    if (rank != static_cast<int64_t>(others.size()) ||
        !std::ranges::equal(others.front(), others.back(), {},
                            &TensorMap::value_type::first,
                            &TensorMap::value_type::first)) {
      return InvalidArgument(fmt::format(
          "rank {} lacks variables that other ranks have", others.size()));
    }
  }
  return others;
}

absl::StatusOr<std::optional<TrainingState>> Load(SafetensorsFile file,
                                                  Session& session) {
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<TensorMap> other_ranks,
                            TakeOtherRanks(session, file.tensors));
  SPILLWAY_RETURN_IF_ERROR(CheckNames(file.tensors, session));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::vector<int64_t> step_numbers,
      ReadStepNumbers(file.metadata, session.step_numbers().size()));
  SPILLWAY_ASSIGN_OR_RETURN(std::optional<TrainingState> training,
                            ReadTraining(file.metadata));
  if (training) training->other_ranks = std::move(other_ranks);
  SPILLWAY_RETURN_IF_ERROR(session.WriteVariables(file.tensors));
  SPILLWAY_RETURN_IF_ERROR(session.SetStepNumbers(step_numbers));
  return training;
}

absl::StatusOr<SafetensorsFile> ReadCheckpoint(const std::string& path) {
  absl::StatusOr<SafetensorsFile> file = ReadSafetensorsFile(path);
  if (absl::IsInvalidArgument(file.status())) {
    return InvalidArgument(
        fmt::format("{}; a checkpoint is needed: a safetensors file with a "
                    "tensor for each variable",
                    std::string(file.status().message())));
  }
  return file;
}

std::string Numbered(const std::string& path, int64_t number) {
  return fmt::format("{}.{}", path, number);
}

// Missing files are left out.
absl::Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (!error || error == std::errc::no_such_file_or_directory) {
    return absl::OkStatus();
  }
  return Internal(
      fmt::format("cannot rename {} to {}: {}", from, to, error.message()));
}

// Gives the file at `path` the name `older` too, or, where a file has only one
// name, instead.
absl::Status KeepAs(const std::string& path, const std::string& older) {
  std::error_code error;
  std::filesystem::create_hard_link(path, older, error);
  return error ? Rename(path, older) : absl::OkStatus();
}

}  // namespace

absl::Status SaveCheckpoint(Session& session, const std::string& path,
                            const std::optional<TrainingState>& training) {
  SPILLWAY_ASSIGN_OR_RETURN(TensorMap variables, session.ReadVariables());
  Metadata metadata = {
      {kStepNumbers,
       fmt::format("[{}]", fmt::join(session.step_numbers(), ", "))}};
  if (training) {
    nlohmann::ordered_json json = {{"updates", training->updates},
                                   {"rows", training->rows}};
    if (training->loss_scale) {
      json["loss_scale"] = {{"scale", training->loss_scale->scale},
                            {"good", training->loss_scale->good},
                            {"skipped", training->loss_scale->skipped}};
    }
    metadata[kTraining] = json.dump();
    int64_t rank = 0;
    for (const TensorMap& other : training->other_ranks) {
      ++rank;
      for (const auto& [name, value] : other) {
        variables[fmt::format("{}{}/{}", kRank, rank, name)] = value;
      }
    }
  }
  return WriteSafetensors(path, variables, metadata);
}

absl::StatusOr<std::optional<TrainingState>> LoadCheckpoint(
    const std::string& path, Session& session) {
  SPILLWAY_ASSIGN_OR_RETURN(SafetensorsFile file, ReadCheckpoint(path));
  absl::StatusOr<std::optional<TrainingState>> training =
      Load(std::move(file), session);
  if (!training.ok()) return Annotate(training.status(), path);
  return training;
}

absl::Status LoadVariables(const std::string& path, Session& session) {
  SPILLWAY_ASSIGN_OR_RETURN(SafetensorsFile file, ReadCheckpoint(path));
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(TakeOtherRanks(session, file.tensors).status(), path));
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckNames(file.tensors, session), path));
  return Annotate(session.WriteVariables(file.tensors), path);
}

absl::Status RotateCheckpoint(Session& session, const std::string& path,
                              const std::optional<TrainingState>& training,
                              int64_t keep) {
  if (keep <= 1) return SaveCheckpoint(session, path, training);
  const std::string latest = path + ".new";
  SPILLWAY_RETURN_IF_ERROR(SaveCheckpoint(session, latest, training));
  for (int64_t i = keep - 1; i > 1; --i) {
    SPILLWAY_RETURN_IF_ERROR(Rename(Numbered(path, i - 1), Numbered(path, i)));
  }
  std::error_code ignored;  // a name that is taken shows in KeepAs
  std::filesystem::remove(Numbered(path, 1), ignored);
  SPILLWAY_RETURN_IF_ERROR(KeepAs(path, Numbered(path, 1)));
  return Rename(latest, path);
}

std::optional<std::string> NewestCheckpoint(const std::string& path) {
  std::string candidate = path;
  std::error_code error;
  for (int64_t i = 1; i == 1 || std::filesystem::exists(candidate, error);
       ++i) {
    if (ReadSafetensorsFile(candidate).ok()) return candidate;
    candidate = Numbered(path, i);
  }
  return std::nullopt;
}

}  // namespace spillway
