#include "graph/types_of.h"

namespace spillway {

std::vector<TensorType> TypesOf(const Graph& graph,
                                std::span<const ValueId> values) {
  std::vector<TensorType> types;
  types.reserve(values.size());
  for (const ValueId value : values) types.push_back(graph.type(value));
  return types;
}

}  // namespace spillway
