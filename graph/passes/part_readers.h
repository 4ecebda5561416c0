// What the passes about parts (graph/parts.h) share.
#ifndef SPILLWAY_GRAPH_PASSES_PART_READERS_H_
#define SPILLWAY_GRAPH_PASSES_PART_READERS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// Channels [begin, begin + size) of `value`, which has more.
struct PartPlace {
  ValueId value = {};
  int64_t begin = 0;
  int64_t size = 0;
};

// The size of the last dimension; 1 for a scalar.
int64_t ChannelsOf(const Graph& graph, ValueId value);

// Whether a node joins tensors channel by channel.
bool ConcatenatesChannels(const Graph& graph, const Node& node);

// Whether the reader may read a part there, as a node with this placement does.
bool CanReadPart(const Graph& graph, const OpRegistry& registry, const Use& use,
                 Placement placement);

// `node`, which reads its inputs in the places that `place_of` gives; a part of
// an input is read in the same part of that place. Nothing if `place_of` gives
// nothing for all inputs.
std::optional<NodeSpec> WithPlaces(
    const Graph& graph, const OpRegistry& registry, const Node& node,
    const std::function<std::optional<PartPlace>(ValueId)>& place_of);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_PART_READERS_H_
