#include "graph/passes/read_parts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/passes/part_readers.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

class Reader {
 public:
  Reader(const PassContext& context, GraphRewrite& rewrite)
      : context_(context),
        graph_(context.graph),
        rewrite_(rewrite),
        storages_(StorageMap::Of(graph_, context.registry)),
        sliced_(graph_.num_values()),
        joined_(graph_.num_values()) {}

  void Run() {
    for (const Node& node : graph_.nodes()) {
      if (node.op == kSlice) FindSlice(node);
      if (ConcatenatesChannels(graph_, node)) FindJoined(node);
    }
    for (const Node& node : graph_.nodes()) {
      if (rewrite_.touches(node.id)) continue;
      std::optional<NodeSpec> spec =
          WithPlaces(graph_, context_.registry, node,
                     [&](ValueId value) { return WidestPlace(node, value); });
      if (spec) rewrite_.Replace(node.id, *std::move(spec));
    }
  }

 private:
  // Where the channels of a value lie for readers of a level after `after`.
  struct JoinedPlace {
    PartPlace place = {};
    int32_t after = 0;
  };

  // Bytes that no node changes, so that it does not matter when they are read.
  bool IsConstantInStep(ValueId value) const {
    const Storage& storage = storages_.of(value);
    return !storage.is_resident && storage.overwriters.empty();
  }

  bool CanReadPart(const Use& use, Placement placement) const {
    return spillway::CanReadPart(graph_, context_.registry, use, placement);
  }

  // The channels that a node slices; nothing if it slices other dimensions too.
  std::optional<PartPlace> ChannelsOfSlice(const Node& slice) const {
    const auto begin = slice.attributes.GetInts("begin");
    const Shape& whole = graph_.type(slice.inputs[0]).shape;
    const Shape& part = graph_.type(slice.outputs[0]).shape;
    if (!begin.ok() || whole.rank() == 0 || whole == part) return std::nullopt;
    for (int axis = 0; axis + 1 < whole.rank(); ++axis) {
      if (whole.dim(axis) != part.dim(axis)) return std::nullopt;
    }
    return PartPlace{slice.inputs[0], begin->back(), part.dim(-1)};
  }

  void FindSlice(const Node& slice) {
    const ValueId output = slice.outputs[0];
    const std::optional<PartPlace> place = ChannelsOfSlice(slice);
    const bool has_control_edges = !slice.control_inputs.empty() ||
                                   !graph_.control_outputs(slice.id).empty();
    if (!place || has_control_edges || context_.is_kept(output) ||
        !IsConstantInStep(place->value) ||
        !std::ranges::all_of(graph_.uses(output), [&](const Use& use) {
          return CanReadPart(use, slice.placement);
        })) {
      return;
    }
    sliced_[output] = *place;
    rewrite_.Drop(slice.id);
    rewrite_.Redirect(output, {});
  }

  // Whether a reader of `value` runs after the concatenation, and whether all
  // that do can read parts.
  struct LaterReaders {
    bool exist = false;
    bool can_read_parts = true;
  };
  LaterReaders LaterReadersOf(ValueId value, const Node& concat) const {
    LaterReaders readers;
    for (const Use& use : graph_.uses(value)) {
      if (context_.levels[use.node] <= context_.levels[concat.id]) continue;
      readers.exist = true;
      readers.can_read_parts &= CanReadPart(use, concat.placement);
    }
    return readers;
  }

  void FindJoined(const Node& concat) {
    const ValueId whole = concat.outputs[0];
    if (!IsConstantInStep(whole)) return;
    std::vector<std::pair<ValueId, PartPlace>> found;
    int64_t begin = 0;
    int64_t channels = 0;  // found
    for (const ValueId input : concat.inputs) {
      const PartPlace place = {whole, begin, ChannelsOf(graph_, input)};
      begin += place.size;
      const LaterReaders readers = LaterReadersOf(input, concat);
      if (!readers.exist || !readers.can_read_parts ||
          joined_[input].has_value() || context_.is_kept(input) ||
          !IsConstantInStep(input) || concat.inputs.size() == 1) {
        continue;
      }
      found.emplace_back(input, place);
      channels += place.size;
    }
    if (2 * channels < begin) return;
    for (const auto& [input, place] : found) {
      joined_[input] = {place, context_.levels[concat.id]};
    }
  }

  // The widest tensor in which `reader` finds the channels of `value`; nothing
  // if that is `value` itself.
  std::optional<PartPlace> WidestPlace(const Node& reader,
                                       ValueId value) const {
    PartPlace place = {value, 0, ChannelsOf(graph_, value)};
    while (true) {
      const std::optional<PartPlace>& sliced = sliced_[place.value];
      const std::optional<JoinedPlace>& joined = joined_[place.value];
      if (sliced) {
        place = {sliced->value, place.begin + sliced->begin, place.size};
      } else if (joined && context_.levels[reader.id] > joined->after) {
        place = {joined->place.value, place.begin + joined->place.begin,
                 place.size};
      } else {
        break;
      }
    }
    if (place.value == value) return std::nullopt;
    return place;
  }

  const PassContext& context_;
  const Graph& graph_;
  GraphRewrite& rewrite_;
  const StorageMap storages_;
  IdMap<ValueId, std::optional<PartPlace>> sliced_;
  IdMap<ValueId, std::optional<JoinedPlace>> joined_;
};

}  // namespace

void ReadParts(const PassContext& context, GraphRewrite& rewrite) {
  Reader(context, rewrite).Run();
}

}  // namespace spillway
