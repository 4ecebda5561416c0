#include "graph/passes/read_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/parts.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Channels [begin, begin + size) of `value`.
struct Place {
  ValueId value = {};
  int64_t begin = 0;
  int64_t size = 0;
};

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
      if (node.op == kConcat) FindJoined(node);
    }
    for (const Node& node : graph_.nodes()) {
      if (rewrite_.touches(node.id)) continue;
      if (std::optional<NodeSpec> spec = WithPlaces(node)) {
        rewrite_.Replace(node.id, *std::move(spec));
      }
    }
  }

 private:
  // Where the channels of a value lie for readers of a level from `after` on.
  struct JoinedPlace {
    Place place = {};
    int32_t after = 0;
  };

  int64_t ChannelsOf(ValueId value) const {
    const Shape& shape = graph_.type(value).shape;
    return shape.rank() == 0 ? 1 : shape.dim(-1);
  }

  // Bytes that no node changes, so that it does not matter when they are read.
  bool IsConstantInStep(ValueId value) const {
    const Storage& storage = storages_.of(value);
    return !storage.is_resident && storage.overwriters.empty();
  }

  bool CanReadPart(const Use& use, Placement placement) const {
    const Node& reader = graph_.node(use.node);
    const OpDef* def = context_.registry.Find(reader.op);
    return def != nullptr && reader.placement == placement &&
           MayBePart(*def, static_cast<size_t>(use.slot));
  }

  // The channels that a node slices; nothing if it slices other dimensions too.
  std::optional<Place> ChannelsOfSlice(const Node& slice) const {
    const auto begin = slice.attributes.GetInts("begin");
    const Shape& whole = graph_.type(slice.inputs[0]).shape;
    const Shape& part = graph_.type(slice.outputs[0]).shape;
    if (!begin.ok() || whole.rank() == 0 || whole == part) return std::nullopt;
    for (int axis = 0; axis + 1 < whole.rank(); ++axis) {
      if (whole.dim(axis) != part.dim(axis)) return std::nullopt;
    }
    return Place{
        .value = slice.inputs[0], .begin = begin->back(), .size = part.dim(-1)};
  }

  void FindSlice(const Node& slice) {
    const ValueId output = slice.outputs[0];
    const std::optional<Place> place = ChannelsOfSlice(slice);
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
    const int rank = graph_.type(whole).shape.rank();
    const int64_t axis = concat.attributes.GetInt("axis", 0).value_or(0);
    if ((axis != rank - 1 && axis != -1) || !IsConstantInStep(whole)) return;
    std::vector<std::pair<ValueId, Place>> found;
    int64_t begin = 0;
    int64_t channels = 0;  // found
    for (const ValueId input : concat.inputs) {
      const Place place = {whole, begin, ChannelsOf(input)};
      begin += place.size;
      const LaterReaders readers = LaterReadersOf(input, concat);
      if (!readers.exist || !readers.can_read_parts ||
          joined_[input].has_value() || context_.is_kept(input) ||
          !IsConstantInStep(input) || place.size == ChannelsOf(whole)) {
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

  // The widest tensor in which `reader` finds the channels of `place`.
  Place WidestFor(const Node& reader, Place place) const {
    while (true) {
      const std::optional<Place>& sliced = sliced_[place.value];
      const std::optional<JoinedPlace>& joined = joined_[place.value];
      if (sliced) {
        place.begin += sliced->begin;
        place.value = sliced->value;
      } else if (joined && context_.levels[reader.id] > joined->after) {
        place.begin += joined->place.begin;
        place.value = joined->place.value;
      } else {
        return place;
      }
    }
  }

  // Nothing if the node reads everything where it did.
  std::optional<NodeSpec> WithPlaces(const Node& node) const {
    std::vector<Place> places;
    for (const ValueId input : node.inputs) {
      places.push_back({input, 0, ChannelsOf(input)});
    }
    for (const InputPart& part : OwnParts(node)) {
      Place& place = places[static_cast<size_t>(part.input)];
      place = {place.value, part.begin, part.size};
    }
    NodeSpec spec = SpecOf(graph_, node);
    std::vector<InputPart> parts;
    bool has_changed = false;
    for (size_t i = 0; i < places.size(); ++i) {
      const Place widest = WidestFor(node, places[i]);
      has_changed |= widest.value != node.inputs[i];
      spec.inputs[i] = widest.value;
      if (widest.size == ChannelsOf(widest.value)) continue;
      parts.push_back({.input = static_cast<int64_t>(i),
                       .begin = widest.begin,
                       .size = widest.size});
    }
    if (!has_changed) return std::nullopt;
    SetParts(parts, spec.attributes);
    return spec;
  }

  std::vector<InputPart> OwnParts(const Node& node) const {
    const OpDef* def = context_.registry.Find(node.op);
    if (def == nullptr) return {};
    return PartsOf(*def, node.attributes).value_or(std::vector<InputPart>());
  }

  const PassContext& context_;
  const Graph& graph_;
  GraphRewrite& rewrite_;
  const StorageMap storages_;
  IdMap<ValueId, std::optional<Place>> sliced_;
  IdMap<ValueId, std::optional<JoinedPlace>> joined_;
};

}  // namespace

void ReadParts(const PassContext& context, GraphRewrite& rewrite) {
  Reader(context, rewrite).Run();
}

}  // namespace spillway
