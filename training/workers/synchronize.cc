#include "training/workers/synchronize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

using Variables = std::map<std::string, HostTensor>;

std::string_view BytesOf(const HostTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()),
          tensor.bytes.size()};
}

// One text for each variable: its name and type, or with `with_bytes` also a
// hash of its bytes.
std::vector<std::string> Describe(const Variables& variables,
                                  std::span<const std::string> except,
                                  bool with_bytes) {
  std::vector<std::string> items;
  for (const auto& [name, value] : variables) {
    if (std::ranges::count(except, name) > 0) continue;
    items.push_back(fmt::format("{} {}", name, value.type.ToString()));
    if (!with_bytes) continue;
    items.back() += fmt::format(" {:016x}", HashName(BytesOf(value)));
  }
  return items;
}

// The mean of a float32 variable; others <- rank 0's.
absl::Status Average(HostTensor& value, Communicator& communicator) {
  const auto bytes = static_cast<int64_t>(value.bytes.size());
  if (value.type.dtype != DType::kFloat32) {
    return communicator.Broadcast(value.bytes.data(), bytes, 0);
  }
  auto* const data = reinterpret_cast<float*>(value.bytes.data());
  const int64_t count = value.type.num_elements();
  SPILLWAY_RETURN_IF_ERROR(
      communicator.AllReduce(data, count, DType::kFloat32));
  const auto ranks = static_cast<float>(communicator.size());
  for (int64_t i = 0; i < count; ++i) data[i] /= ranks;
  return absl::OkStatus();
}

}  // namespace

absl::Status SynchronizeVariables(Session& session, Communicator& communicator,
                                  InitSync how) {
  if (communicator.size() == 1) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(Variables variables, session.ReadVariables());
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckAgreement(communicator,
                              Describe(variables, {}, how == InitSync::kCheck)),
               "variables"));
  if (how == InitSync::kCheck) return absl::OkStatus();
  for (auto& [name, value] : variables) {
    SPILLWAY_RETURN_IF_ERROR(
        how == InitSync::kAverage
            ? Average(value, communicator)
            : communicator.Broadcast(value.bytes.data(),
                                     static_cast<int64_t>(value.bytes.size()),
                                     0));
  }
  return session.WriteVariables(variables);
}

absl::StatusOr<TrainingState> BroadcastState(const TrainingState& own,
                                             Communicator& communicator) {
  struct Message {
    int64_t updates = 0;
    int64_t has_scale = 0;
    LossScaleState scale = {};
  };
  Message message = {.updates = own.updates,
                     .has_scale = own.loss_scale.has_value(),
                     .scale = own.loss_scale.value_or(LossScaleState())};
  SPILLWAY_RETURN_IF_ERROR(
      communicator.Broadcast(&message, sizeof(message), 0));
  if (communicator.rank() == 0) return own;
  TrainingState state = {.updates = message.updates};
  if (message.has_scale != 0) state.loss_scale = message.scale;
  return state;
}

absl::Status BroadcastVariables(Session& session, Communicator& communicator,
                                std::span<const std::string> names) {
  if (names.empty() || communicator.size() == 1) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(Variables variables, session.ReadVariables());
  Variables wanted;
  for (const std::string& name : names) {
    HostTensor& value = wanted[name] = std::move(variables.at(name));
    SPILLWAY_RETURN_IF_ERROR(communicator.Broadcast(
        value.bytes.data(), static_cast<int64_t>(value.bytes.size()), 0));
  }
  return communicator.rank() == 0 ? absl::OkStatus()
                                  : session.WriteVariables(wanted);
}

absl::Status CheckReplicas(Session& session, Communicator& communicator,
                           std::span<const std::string> except) {
  SPILLWAY_ASSIGN_OR_RETURN(const Variables variables, session.ReadVariables());
  return Annotate(CheckAgreement(communicator, Describe(variables, except,
                                                        /*with_bytes=*/true)),
                  "the variables of the ranks have diverged");
}

absl::Status CheckAgreement(Communicator& communicator,
                            std::span<const std::string> items) {
  const std::string text = absl::StrJoin(items.begin(), items.end(), "\n");
  const uint64_t hash = HashName(text);
  std::vector<uint64_t> hashes(static_cast<size_t>(communicator.size()));
  SPILLWAY_RETURN_IF_ERROR(
      communicator.AllGather(&hash, hashes.data(), sizeof(hash)));
  const auto other = std::ranges::adjacent_find(hashes, std::not_equal_to<>());
  if (other == hashes.end()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                            communicator.AllGatherText(text));
  const auto rank = static_cast<size_t>(other - hashes.begin()) + 1;
  const std::vector<std::string> first = absl::StrSplit(texts[0], '\n');
  const std::vector<std::string> differing = absl::StrSplit(texts[rank], '\n');
  const auto [a, b] = std::ranges::mismatch(first, differing);
  const std::string nothing = "nothing more";
  return absl::AbortedError(fmt::format("rank {} has {}, rank 0 has {}", rank,
                                        b == differing.end() ? nothing : *b,
                                        a == first.end() ? nothing : *a));
}

}  // namespace spillway
