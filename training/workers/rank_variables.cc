#include "training/workers/rank_variables.h"

#include <cstdint>
#include <utility>

#include "base/status_macros.h"

namespace spillway {
namespace {

absl::Status BroadcastTensor(HostTensor& tensor, int root,
                             Communicator& communicator) {
  return communicator.Broadcast(
      tensor.bytes.data(), static_cast<int64_t>(tensor.bytes.size()), root);
}

// own <- the mean of it and those of the same name.
void AverageWith(std::span<const TensorMap> others, const std::string& name,
                 HostTensor& own) {
  auto* const data = reinterpret_cast<float*>(own.bytes.data());
  const int64_t count = own.type.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    double sum = data[i];
    for (const TensorMap& other : others) {
      sum += other.at(name).data<float>()[i];
    }
    data[i] = static_cast<float>(sum / static_cast<double>(others.size() + 1));
  }
}

}  // namespace

absl::StatusOr<std::vector<TensorMap>> GatherRankVariables(
    Session& session, Communicator& communicator,
    std::span<const std::string> names) {
  if (names.empty() || communicator.size() == 1) {
    return std::vector<TensorMap>();
  }
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap own, session.ReadVariables());
  std::vector<TensorMap> others;
  for (int rank = 1; rank < communicator.size(); ++rank) {
    TensorMap& of_rank = others.emplace_back();
    for (const std::string& name : names) {
      HostTensor value = own.at(name);
      SPILLWAY_RETURN_IF_ERROR(BroadcastTensor(value, rank, communicator));
      if (communicator.rank() == 0) of_rank[name] = std::move(value);
    }
  }
  if (communicator.rank() != 0) others.clear();
  return others;
}

absl::Status ScatterRankVariables(Session& session, Communicator& communicator,
                                  std::span<const std::string> names,
                                  std::span<const TensorMap> others) {
  if (names.empty()) return absl::OkStatus();
  auto known = static_cast<int64_t>(others.size()) + 1;  // ranks
  SPILLWAY_RETURN_IF_ERROR(communicator.Broadcast(&known, sizeof(known), 0));
  if (known == 1) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap all, session.ReadVariables());
  TensorMap own;
  for (const std::string& name : names) own[name] = all.at(name);
  if (known != communicator.size()) {
    for (auto& [name, value] : own) {
      if (communicator.rank() == 0) AverageWith(others, name, value);
      SPILLWAY_RETURN_IF_ERROR(BroadcastTensor(value, 0, communicator));
    }
    return session.WriteVariables(own);
  }
  for (int rank = 1; rank < communicator.size(); ++rank) {
    for (const std::string& name : names) {
      HostTensor value = communicator.rank() == 0
                             ? others[static_cast<size_t>(rank) - 1].at(name)
                             : own[name];
      SPILLWAY_RETURN_IF_ERROR(BroadcastTensor(value, 0, communicator));
      if (communicator.rank() == rank) own[name] = std::move(value);
    }
  }
  return session.WriteVariables(own);
}

}  // namespace spillway
