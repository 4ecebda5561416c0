#include "tuner/model/kernel_algorithms.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "simulator/node_signature.h"

namespace spillway {
namespace {

using MeasuredAlgorithms =
    std::map<std::string, MeasuredAlgorithm, std::less<>>;

// Null: the profile has no algorithms for the node.
const MeasuredAlgorithms* FindMeasured(const Graph& graph, NodeId node,
                                       const DeviceProfile& profile) {
  if (profile.algorithms.empty()) return nullptr;
  const auto found =
      profile.algorithms.find(NodeSignature(graph, graph.node(node)));
  return found == profile.algorithms.end() ? nullptr : &found->second;
}

std::vector<KnownAlgorithm> OfAnotherMachine(const MeasuredAlgorithms& all) {
  std::vector<KnownAlgorithm> known;
  for (const auto& [name, measured] : all) {
    known.push_back({.name = name,
                     .workspace_bytes = measured.workspace_bytes,
                     .ns = measured.ns});
  }
  return known;
}

// The elements of `listed` that are in `measured`.
std::vector<KnownAlgorithm> WithTimes(
    const std::vector<KernelAlgorithm>& listed,
    const MeasuredAlgorithms& measured) {
  std::vector<KnownAlgorithm> known;
  for (const auto& [name, workspace_bytes] : listed) {
    const auto found = measured.find(name);
    if (found == measured.end()) continue;
    known.push_back({.name = name,
                     .workspace_bytes = workspace_bytes,
                     .ns = found->second.ns});
  }
  return known;
}

// The first `most` elements of `listed`.
std::vector<KnownAlgorithm> WithoutTimes(
    const std::vector<KernelAlgorithm>& listed, size_t most) {
  std::vector<KnownAlgorithm> known;
  for (const auto& [name, workspace_bytes] : listed) {
    if (known.size() == most) break;
    known.push_back({.name = name, .workspace_bytes = workspace_bytes});
  }
  return known;
}

// Sorts by time, stably, and removes algorithms that have no advantage.
void SortAndPrune(std::vector<KnownAlgorithm>& known) {
  std::ranges::stable_sort(known, {}, &KnownAlgorithm::ns);
  int64_t least_bytes = std::numeric_limits<int64_t>::max();
  std::erase_if(known, [&](const KnownAlgorithm& algorithm) {
    if (algorithm.workspace_bytes >= least_bytes) return true;
    least_bytes = algorithm.workspace_bytes;
    return false;
  });
}

}  // namespace

KnownAlgorithms FindAlgorithms(const Graph& graph,
                               const ListedAlgorithms& listed,
                               const DeviceProfile& profile) {
  KnownAlgorithms known(graph.num_nodes());
  const size_t most_without_times =
      profile.algorithms.empty() ? std::numeric_limits<size_t>::max() : 1;
  for (const Node& node : graph.nodes()) {
    const MeasuredAlgorithms* measured = FindMeasured(graph, node.id, profile);
    std::vector<KnownAlgorithm>& of_node = known[node.id];
    if (measured == nullptr) {
      of_node = WithoutTimes(listed[node.id], most_without_times);
    } else {
      of_node = WithTimes(listed[node.id], *measured);
      if (of_node.empty()) of_node = OfAnotherMachine(*measured);
    }
    SortAndPrune(of_node);
  }
  return known;
}

AlgorithmNames ChooseWithin(const KnownAlgorithms& known,
                            const IdMap<NodeId, int64_t>& most_bytes) {
  AlgorithmNames names(known.size());
  for (const NodeId node : known.ids()) {
    if (known[node].empty()) continue;
    const auto fits =
        std::ranges::find_if(known[node], [&](const KnownAlgorithm& algorithm) {
          return algorithm.workspace_bytes <= most_bytes[node];
        });
    names[node] =
        fits == known[node].end() ? known[node].back().name : fits->name;
  }
  return names;
}

AlgorithmNames ChooseWithin(const KnownAlgorithms& known, int64_t most_bytes) {
  return ChooseWithin(known, IdMap<NodeId, int64_t>(known.size(), most_bytes));
}

void KeepFastest(KnownAlgorithms& known) {
  const bool has_times = HasTimes(known);
  for (std::vector<KnownAlgorithm>& of_node : known) {
    if (!has_times) of_node.clear();
    if (of_node.size() > 1) of_node.resize(1);
  }
}

bool HasTimes(const KnownAlgorithms& known) {
  return std::ranges::any_of(known, [](const auto& of_node) {
    return std::ranges::any_of(of_node, [](const KnownAlgorithm& algorithm) {
      return algorithm.ns > 0;
    });
  });
}

std::vector<LimitedChoice> LimitedChoices(const KnownAlgorithms& known) {
  int64_t largest = 0;
  for (const std::vector<KnownAlgorithm>& of_node : known) {
    for (const KnownAlgorithm& algorithm : of_node) {
      largest = std::max(largest, algorithm.workspace_bytes);
    }
  }
  std::vector<LimitedChoice> choices;
  for (const int64_t limit : {largest, largest / 4, largest / 16, int64_t{0}}) {
    AlgorithmNames names = ChooseWithin(known, limit);
    if (!choices.empty() && names == choices.back().names) continue;
    choices.push_back({.limit_bytes = limit, .names = std::move(names)});
  }
  if (!HasTimes(known)) choices.front().names = {};
  return choices;
}

void SetWorkspaces(const KnownAlgorithms& known, const AlgorithmNames& names,
                   IdMap<NodeId, int64_t>& workspace_bytes) {
  for (const NodeId node : known.ids()) {
    const std::string_view name = AlgorithmOf(names, node);
    const auto found =
        std::ranges::find(known[node], name, &KnownAlgorithm::name);
    if (found != known[node].end()) {
      workspace_bytes[node] = found->workspace_bytes;
    }
  }
}

}  // namespace spillway
