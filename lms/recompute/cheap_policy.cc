#include "lms/recompute/cheap_policy.h"

#include <algorithm>
#include <string>

#include "graph/node_cost.h"

namespace spillway {
namespace {

constexpr int64_t kMostBytesPerByte = 8;
constexpr double kMostFlopsPerByte = 4;

// What recomputing one storage takes.
struct Chain {
  std::vector<StorageId> remade = {};   // it, and those made on the way to it
  std::vector<StorageId> waiting = {};  // have to wait in its place
  int64_t waiting_bytes = 0;
};

class CheapPolicy {
 public:
  CheapPolicy(const ForwardValues& values, int64_t least_bytes,
              std::vector<DroppedCandidate>& dropped)
      : values_(values),
        least_bytes_(least_bytes),
        dropped_(dropped),
        is_remade_(values.storages().size(), false),
        waits_(values.storages().size(), false),
        met_by_(values.storages().size(), StorageId()) {}

  IdMap<StorageId, bool> Choose() {
    for (const StorageId id : values_.storages().storages().ids()) {
      waits_[id] = values_.FirstReader(id).is_valid();
    }
    for (const NodeId node : values_.order()) {
      if (values_.IsBackward(node)) continue;
      for (const ValueId output : values_.graph().node(node).outputs) {
        const StorageId id = values_.storages().id_of(output);
        if (values_.MakerOf(id) == node && waits_[id]) Consider(id);
      }
    }
    return std::move(is_remade_);
  }

 private:
  bool IsCheap(StorageId id) const {
    const Graph& graph = values_.graph();
    const NodeId node = values_.MakerOf(id);
    const OpCost cost = NodeCost(graph, values_.ops(), node);
    int64_t made = 0;
    for (const ValueId output : graph.node(node).outputs) {
      made += graph.type(output).num_bytes();
    }
    return cost.bytes / kMostBytesPerByte <= made &&
           cost.flops <= kMostFlopsPerByte * static_cast<double>(cost.bytes);
  }

  void Consider(StorageId id) {
    if (!values_.CanRemake(id) || !IsCheap(id)) return;
    const auto drop = [&](std::string reason) {
      dropped_.push_back({.value = values_.storages().storage(id).root,
                          .reason = std::move(reason)});
    };
    const int64_t bytes = values_.BytesOf(id);
    if (bytes < least_bytes_) return drop("smaller than the size threshold");
    if (!values_.Waits(id)) {
      return drop("read as soon as the backward phase begins");
    }
    const Chain chain = FindChain(id);
    if (chain.waiting_bytes >= bytes) {
      return drop("what it is made from would wait in its place");
    }
    for (const StorageId remade : chain.remade) {
      is_remade_[remade] = true;
      waits_[remade] = false;
    }
    for (const StorageId waiting : chain.waiting) waits_[waiting] = true;
  }

  Chain FindChain(StorageId target) {
    Chain chain = {.remade = {target}};
    met_by_[target] = target;
    for (size_t i = 0; i < chain.remade.size(); ++i) {
      const ValueId root = values_.storages().storage(chain.remade[i]).root;
      for (const ValueId input : values_.InputsOfRemake(root)) {
        const StorageId id = values_.storages().id_of(input);
        if (met_by_[id] == target) continue;
        met_by_[id] = target;
        if (IsAvailable(id)) continue;
        if (values_.CanRemake(id) && IsCheap(id)) {
          chain.remade.push_back(id);
        } else {
          chain.waiting.push_back(id);
          chain.waiting_bytes += values_.BytesOf(id);
        }
      }
    }
    return chain;
  }

  // Whether clones can read the storage without further cost.
  bool IsAvailable(StorageId id) const {
    return waits_[id] || is_remade_[id] ||
           values_.storages().storage(id).is_resident;
  }

  const ForwardValues& values_;
  const int64_t least_bytes_;
  std::vector<DroppedCandidate>& dropped_;
  IdMap<StorageId, bool> is_remade_;
  IdMap<StorageId, bool> waits_;  // on the device for the backward phase
  IdMap<StorageId, StorageId> met_by_;
};

}  // namespace

IdMap<StorageId, bool> ChooseCheap(const ForwardValues& values,
                                   int64_t least_bytes,
                                   std::vector<DroppedCandidate>& dropped) {
  return CheapPolicy(values, least_bytes, dropped).Choose();
}

}  // namespace spillway
