#include "lms/v1/seeds.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "graph/order/schedule.h"

namespace spillway {
namespace {

// The height of a forward node is the length of the longest forward path from
// it, so every node that it reaches is lower. Hence, once a walk has met v, v
// reaches at most the candidates that this walk met and that are no higher than
// v. The same holds for several nodes together, with the height of the highest.
// Every node that a walk meets notes this bound. A later source first walks
// only until it meets noted nodes, adds up the bounds, and is counted only if
// the sum is not below the best count so far. Higher sources come first:
// usually the first is the best, and the walks of the others soon meet nodes of
// its walk.
class SeedSearch {
 public:
  explicit SeedSearch(const SeedInputs& inputs)
      : graph_(inputs.graph),
        storages_(inputs.storages),
        is_gradient_(inputs.is_gradient),
        by_level_(OrderByLevel(inputs.levels)),
        is_candidate_(graph_.num_nodes(), false),
        height_(graph_.num_nodes(), 0),
        bound_(graph_.num_nodes(), 0),
        noted_by_(graph_.num_nodes(), kNobody),
        met_by_(graph_.num_nodes(), kNobody) {}

  std::vector<NodeId> Run() {
    FindCandidates();
    FindHeights();
    const std::vector<int64_t> lower = CandidatesByHeight();
    std::vector<NodeId> best;
    int64_t most = 1;
    for (const NodeId source : Sources()) {
      const auto height = static_cast<size_t>(height_[source]);
      if (height == 0 || lower[height - 1] < most) break;
      const int64_t count = CountUnlessBelow(most, ForwardReaders(source));
      if (count < most) continue;
      if (count > most) best.clear();
      most = count;
      best.push_back(source);
    }
    std::ranges::sort(best);
    return best;
  }

 private:
  static constexpr int32_t kNobody = -1;

  // Calls visit(NodeId) for each reader of the node's outputs, once per use.
  template <typename Visit>
  void ForEachReader(NodeId id, Visit visit) const {
    for (const ValueId output : graph_.node(id).outputs) {
      for (const Use& use : graph_.uses(output)) visit(use.node);
    }
  }

  template <typename Visit>
  void ForEachForwardReader(NodeId id, Visit visit) const {
    ForEachReader(id, [&](NodeId reader) {
      if (!is_gradient_[reader]) visit(reader);
    });
  }

  std::vector<NodeId> ForwardReaders(NodeId id) const {
    std::vector<NodeId> readers;
    ForEachForwardReader(id, [&](NodeId reader) { readers.push_back(reader); });
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }

  void FindCandidates() {
    for (const NodeId id : by_level_) {
      if (is_gradient_[id]) continue;
      ForEachReader(id, [&](NodeId reader) {
        if (is_gradient_[reader]) is_candidate_[MakerOf(id)] = true;
      });
    }
  }

  // The node that makes the bytes of a node's output: the node itself unless it
  // is a pure alias.
  NodeId MakerOf(NodeId id) const {
    if (!storages_.is_pure_alias(id)) return id;
    return graph_.value(storages_.of(graph_.output(id)).root).producer;
  }

  void FindHeights() {
    for (auto id = by_level_.rbegin(); id != by_level_.rend(); ++id) {
      if (is_gradient_[*id]) continue;
      ForEachForwardReader(*id, [&](NodeId reader) {
        height_[*id] = std::max(height_[*id], height_[reader] + 1);
      });
    }
  }

  // Element h: how many candidates have a height of at most h.
  std::vector<int64_t> CandidatesByHeight() const {
    std::vector<int64_t> counts(graph_.num_nodes() + 1, 0);
    for (const NodeId id : by_level_) {
      if (is_candidate_[id]) ++counts[static_cast<size_t>(height_[id])];
    }
    std::partial_sum(counts.begin(), counts.end(), counts.begin());
    return counts;
  }

  // Candidates that no other candidate reaches. A node is higher than all nodes
  // that it reaches, so the highest come first; ties go to the lowest id.
  std::vector<NodeId> Sources() const {
    IdMap<NodeId, bool> is_reached(graph_.num_nodes(), false);
    std::vector<NodeId> sources;
    for (const NodeId id : by_level_) {
      if (is_gradient_[id]) continue;
      if (is_candidate_[id] && !is_reached[id]) sources.push_back(id);
      if (!is_candidate_[id] && !is_reached[id]) continue;
      ForEachForwardReader(id,
                           [&](NodeId reader) { is_reached[reader] = true; });
    }
    std::ranges::sort(sources, {},
                      [&](NodeId id) { return std::pair(-height_[id], id); });
    return sources;
  }

  // The number of candidates among `starts` and the nodes that they reach; or
  // some number below `least` if there are fewer than `least`.
  int64_t CountUnlessBelow(int64_t least, const std::vector<NodeId>& starts) {
    const auto known = counts_.find(starts);
    if (known != counts_.end()) return known->second;
    const int64_t most = UpperBound(least, starts);
    if (most < least) return most;
    return counts_[starts] = Count(starts);
  }

  // An upper bound on the candidates among `starts` and the nodes that they
  // reach. If the bound is below `least`, the nodes that were met note it: no
  // later walk needs to enter them.
  int64_t UpperBound(int64_t least, const std::vector<NodeId>& starts) {
    ++walk_;
    std::map<int32_t, int64_t> noted;  // by walk
    std::vector<NodeId> met;
    const auto meet = [&](NodeId id) {
      if (noted_by_[id] != kNobody) {
        int64_t& bound = noted[noted_by_[id]];
        bound = std::max(bound, bound_[id]);
      } else if (met_by_[id] != walk_) {
        met_by_[id] = walk_;
        met.push_back(id);
      }
    };
    for (const NodeId id : starts) meet(id);
    int64_t sum = 0;
    for (size_t done = 0; done < met.size(); ++done) {
      if (is_candidate_[met[done]]) ++sum;
      ForEachForwardReader(met[done], meet);
    }
    for (const auto& [walk, bound] : noted) sum += bound;
    if (sum >= least) return sum;
    for (const NodeId id : met) Note(id, sum);
    return sum;
  }

  int64_t Count(const std::vector<NodeId>& starts) {
    ++walk_;
    std::vector<NodeId> met;
    const auto meet = [&](NodeId id) {
      if (met_by_[id] == walk_) return;
      met_by_[id] = walk_;
      met.push_back(id);
    };
    for (const NodeId id : starts) meet(id);
    size_t highest = 0;
    for (size_t done = 0; done < met.size(); ++done) {
      highest = std::max(highest, static_cast<size_t>(height_[met[done]]));
      ForEachForwardReader(met[done], meet);
    }
    std::vector<int64_t> counts(highest + 1, 0);
    for (const NodeId id : met) {
      if (is_candidate_[id]) ++counts[static_cast<size_t>(height_[id])];
    }
    std::partial_sum(counts.begin(), counts.end(), counts.begin());
    for (const NodeId id : met) {
      Note(id, counts[static_cast<size_t>(height_[id])]);
    }
    return counts.back();
  }

  void Note(NodeId id, int64_t bound) {
    noted_by_[id] = walk_;
    bound_[id] = bound;
  }

  const Graph& graph_;
  const StorageMap& storages_;
  const IdMap<NodeId, bool>& is_gradient_;
  const std::vector<NodeId> by_level_;
  IdMap<NodeId, bool> is_candidate_;
  IdMap<NodeId, int32_t> height_;
  IdMap<NodeId, int64_t> bound_;
  IdMap<NodeId, int32_t> noted_by_;  // the walk that noted the bound
  IdMap<NodeId, int32_t> met_by_;    // the last walk that met the node
  int32_t walk_ = kNobody;
  std::map<std::vector<NodeId>, int64_t> counts_;  // by starts
};

}  // namespace

std::vector<NodeId> FindSeeds(const SeedInputs& inputs) {
  return SeedSearch(inputs).Run();
}

}  // namespace spillway
