#include "lms/recompute/checkpoint_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// A storage that the forward phase makes. Places are those of nodes in the
// order of levels, forward nodes only.
struct ForwardStorage {
  StorageId id = {};
  int64_t bytes = 0;
  int32_t made_at = 0;
  int32_t last_read_at = 0;  // by a forward node; made_at: by none
  bool waits = false;        // the backward phase reads it
  bool can_remake = false;
};

// Segment s ends after place cuts[s]; the last one has no end.
using Cuts = std::vector<int32_t>;

class CheckpointPolicy {
 public:
  CheckpointPolicy(const ForwardValues& values, int64_t least_bytes)
      : values_(values) {
    FindStorages(least_bytes);
    FindCrossings();
  }

  IdMap<StorageId, bool> Choose() const {
    constexpr int kBudgets = 21;
    constexpr int32_t kAny = std::numeric_limits<int32_t>::max();
    Cuts best;
    int64_t least = WorstBytes(best);
    const auto total = static_cast<double>(least);
    for (const int32_t most_crossing : {1, 2, 4, kAny}) {
      for (int i = 0; i < kBudgets; ++i) {
        const auto budget =
            static_cast<int64_t>(total / std::pow(2.0, 0.5 * i));
        Cuts cuts = CutsWithin(budget, most_crossing);
        const int64_t bytes = WorstBytes(cuts);
        if (bytes >= least) continue;
        least = bytes;
        best = std::move(cuts);
      }
    }
    return Between(best);
  }

 private:
  void FindStorages(int64_t least_bytes) {
    const Graph& graph = values_.graph();
    IdMap<NodeId, int32_t> place(graph.num_nodes(), -1);
    for (const NodeId id : values_.order()) {
      if (!values_.IsBackward(id)) place[id] = num_places_++;
    }
    for (const NodeId node : values_.order()) {
      if (values_.IsBackward(node) || graph.node(node).op == kPlaceholder) {
        continue;
      }
      for (const ValueId output : graph.node(node).outputs) {
        const StorageId id = values_.storages().id_of(output);
        const Storage& storage = values_.storages().storage(id);
        if (storage.root != output || storage.is_resident) continue;
        ForwardStorage made = {.id = id,
                               .bytes = values_.BytesOf(id),
                               .made_at = place[node],
                               .last_read_at = place[node],
                               .waits = values_.FirstReader(id).is_valid()};
        for (const ValueId value : storage.values) {
          for (const Use& use : graph.uses(value)) {
            made.last_read_at = std::max(made.last_read_at, place[use.node]);
          }
        }
        made.can_remake = values_.CanRemake(id) && made.bytes >= least_bytes &&
                          (!made.waits || values_.Waits(id));
        storages_.push_back(made);
      }
    }
  }

  void FindCrossings() {
    const auto places = static_cast<size_t>(num_places_);
    crossing_.resize(places + 1, 0);
    for (const ForwardStorage& storage : storages_) {
      ++crossing_[static_cast<size_t>(storage.made_at)];
      --crossing_[static_cast<size_t>(storage.last_read_at)];
    }
    for (size_t i = 1; i < crossing_.size(); ++i) {
      crossing_[i] += crossing_[i - 1];
    }
  }

  Cuts CutsWithin(int64_t budget, int32_t most_crossing) const {
    Cuts cuts;
    int64_t waiting = 0;
    size_t next = 0;
    for (int32_t place = 0; place < num_places_; ++place) {
      for (; next < storages_.size() && storages_[next].made_at == place;
           ++next) {
        const ForwardStorage& storage = storages_[next];
        if (storage.waits && storage.can_remake) waiting += storage.bytes;
      }
      const int32_t crossing = crossing_[static_cast<size_t>(place)];
      if (waiting <= budget || crossing > most_crossing) continue;
      cuts.push_back(place);
      waiting = 0;
    }
    return cuts;
  }

  // Calls visit(storage, segment in which it is made, whether it is read across
  // a cut) in the order in which the storages are made.
  template <typename Visit>
  void ForEachStorage(const Cuts& cuts, Visit visit) const {
    size_t segment = 0;
    for (const ForwardStorage& storage : storages_) {
      while (segment < cuts.size() && cuts[segment] < storage.made_at) {
        ++segment;
      }
      const bool crosses =
          segment < cuts.size() && cuts[segment] < storage.last_read_at;
      visit(storage, segment, crosses);
    }
  }

  // The most bytes on the device as the backward phase of a segment begins.
  int64_t WorstBytes(const Cuts& cuts) const {
    int64_t kept = 0;
    int64_t remade = 0;  // of the current segment
    int64_t worst = 0;
    size_t current = 0;
    ForEachStorage(
        cuts, [&](const ForwardStorage& storage, size_t segment, bool crosses) {
          if (segment != current) remade = 0;
          current = segment;
          if (!crosses && !storage.waits) return;
          const bool is_remade =
              !crosses && storage.can_remake && segment < cuts.size();
          (is_remade ? remade : kept) += storage.bytes;
          worst = std::max(worst, kept + remade);
        });
    return worst;
  }

  IdMap<StorageId, bool> Between(const Cuts& cuts) const {
    IdMap<StorageId, bool> is_remade(values_.storages().size(), false);
    ForEachStorage(
        cuts, [&](const ForwardStorage& storage, size_t segment, bool crosses) {
          is_remade[storage.id] =
              !crosses && storage.can_remake && segment < cuts.size();
        });
    return is_remade;
  }

  const ForwardValues& values_;
  int32_t num_places_ = 0;
  std::vector<ForwardStorage> storages_;  // as they are made
  // Storages that are read across a cut after this place.
  std::vector<int32_t> crossing_;
};

}  // namespace

IdMap<StorageId, bool> ChooseBetweenCheckpoints(const ForwardValues& values,
                                                int64_t least_bytes) {
  return CheckpointPolicy(values, least_bytes).Choose();
}

}  // namespace spillway
