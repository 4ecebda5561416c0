#include "graph/passes/grow_concats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/passes/part_readers.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

class Grower {
 public:
  Grower(const PassContext& context, GraphRewrite& rewrite)
      : context_(context),
        graph_(context.graph),
        rewrite_(rewrite),
        is_grown_(graph_.num_values(), false) {}

  void Run() {
    for (size_t i = graph_.num_nodes(); i-- > 0;) {
      const Node& node = graph_.node(NodeId(i));
      if (rewrite_.touches(node.id)) continue;
      if (!ConcatenatesChannels(graph_, node)) continue;
      const std::vector<const Node*> chain = ChainTo(node);
      if (chain.size() > 1) Grow(chain);
    }
    for (const Node& node : graph_.nodes()) {
      if (rewrite_.touches(node.id)) continue;
      std::optional<NodeSpec> spec =
          WithPlaces(graph_, context_.registry, node,
                     [&](ValueId value) { return PlaceOf(value); });
      if (spec) rewrite_.Replace(node.id, *std::move(spec));
    }
  }

 private:
  // The concatenations that begin with one another, of which `last` is the
  // last.
  std::vector<const Node*> ChainTo(const Node& last) const {
    std::vector<const Node*> chain = {&last};
    for (const Node* before = BeforeIn(last); before != nullptr;
         before = BeforeIn(*before)) {
      chain.insert(chain.begin(), before);
    }
    return chain;
  }

  // The concatenation that grows into `concat`; null: none.
  const Node* BeforeIn(const Node& concat) const {
    const ValueId first = concat.inputs[0];
    const Node& before = graph_.producer(first);
    if (concat.inputs.size() < 2 || !ConcatenatesChannels(graph_, before) ||
        before.placement != concat.placement || context_.is_kept(first) ||
        rewrite_.touches(before.id)) {
      return nullptr;
    }
    const int32_t level = context_.levels[concat.id];
    const bool may_grow =
        std::ranges::all_of(graph_.uses(first), [&](const Use& use) {
          if (use.node == concat.id) return use.slot == 0;
          return context_.levels[use.node] < level &&
                 CanReadPart(graph_, context_.registry, use, concat.placement);
        });
    return may_grow ? &before : nullptr;
  }

  void Grow(const std::vector<const Node*>& chain) {
    const ValueId last = chain.back()->outputs[0];
    int64_t channels = 0;  // so far
    for (const Node* concat : chain) {
      const ValueId own = concat->outputs[0];
      NodeSpec spec = SpecOf(graph_, *concat);
      spec.outputs = {graph_.type(last)};
      if (channels == 0) {
        const int64_t room = spec.attributes.GetInt("room", 0).value_or(0);
        spec.attributes.Set(
            "room", room + ChannelsOf(graph_, last) - ChannelsOf(graph_, own));
      } else {
        // Room of its own has the zeros of the first one's.
        spec.op = kConcatInto;
        spec.attributes = {{"axis", -1}, {"begin", channels}};
      }
      channels = ChannelsOf(graph_, own);
      is_grown_[own] = own != last;
      rewrite_.Replace(concat->id, std::move(spec));
    }
  }

  std::optional<PartPlace> PlaceOf(ValueId value) const {
    if (!is_grown_[value]) return std::nullopt;
    return PartPlace{value, 0, ChannelsOf(graph_, value)};
  }

  const PassContext& context_;
  const Graph& graph_;
  GraphRewrite& rewrite_;
  IdMap<ValueId, bool> is_grown_;  // has more channels now
};

}  // namespace

void GrowConcats(const PassContext& context, GraphRewrite& rewrite) {
  Grower(context, rewrite).Run();
}

}  // namespace spillway
