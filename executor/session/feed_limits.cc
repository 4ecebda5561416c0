#include "executor/session/feed_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "graph/index_limits.h"
#include "graph/storage.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// The output of the Placeholder whose bytes `value` holds unchanged; invalid if
// there is none.
ValueId FedValue(const Graph& graph, const StorageMap& storages,
                 ValueId value) {
  while (true) {
    const Storage& storage = storages.of(value);
    if (!storage.overwriters.empty()) return {};
    const Node& node = graph.producer(storage.root);
    if (node.op == kPlaceholder) return storage.root;
    const bool is_copy = CopiesToHost(node.op) || CopiesToDevice(node.op);
    if (!is_copy || node.inputs.empty()) return {};
    value = node.inputs[0];
  }
}

// Elements that may be unaligned.
template <typename T>
struct Elements {
  T operator[](int64_t i) const {
    T element = {};
    std::memcpy(&element, bytes + i * SizeOf(*ElementDType<T>()), sizeof(T));
    return element;
  }

  const std::byte* bytes = nullptr;
  int64_t size = 0;
};

// One pass without a branch, which the compiler vectorises.
template <typename T>
bool AreBelow(const Elements<T>& elements, int64_t limit) {
  T least = 0;
  T most = 0;
  for (int64_t i = 0; i < elements.size; ++i) {
    const T element = elements[i];
    least = std::min(least, element);
    most = std::max(most, element);
  }
  return least == 0 && static_cast<int64_t>(most) < limit;
}

template <typename T>
absl::Status CheckElements(const void* data, int64_t size,
                           const FeedLimit& limit) {
  const Elements<T> elements = {.bytes = static_cast<const std::byte*>(data),
                                .size = size};
  if (AreBelow(elements, limit.limit)) return absl::OkStatus();
  int64_t first = 0;
  const auto is_in_range = [&](int64_t element) {
    return element >= 0 && element < limit.limit;
  };
  while (first + 1 < size && is_in_range(elements[first])) ++first;
  return InvalidArgument(fmt::format(
      "element {} is {}; {} needs a number in [0, {})", first,
      static_cast<int64_t>(elements[first]), limit.reader, limit.limit));
}

}  // namespace

absl::StatusOr<FeedLimits> FindFeedLimits(const Graph& graph,
                                          const OpRegistry& ops,
                                          const IdMap<NodeId, bool>& keep) {
  const StorageMap storages = StorageMap::Of(graph, ops);
  FeedLimits limits;
  for (const Node& node : graph.nodes()) {
    const OpDef* def = ops.Find(node.op);
    if (!keep[node.id] || def == nullptr || def->index_inputs.empty()) continue;
    const std::vector<TensorType> types = TypesOf(graph, node.inputs);
    const auto indices = IndexLimits(*def, {node.attributes, types});
    if (!indices.ok()) return Annotate(indices.status(), node.name);
    for (const IndexLimit& index : *indices) {
      const ValueId fed = FedValue(graph, storages, node.inputs[index.input]);
      if (!fed.is_valid()) continue;
      const auto [found, is_new] = limits.try_emplace(fed);
      FeedLimit& least = found->second;
      if (is_new || index.limit < least.limit) {
        least = {.limit = index.limit, .reader = node.name};
      }
    }
  }
  return limits;
}

absl::Status CheckRange(const Feed& feed, const TensorType& type,
                        const FeedLimit& limit) {
  const int64_t num_elements = type.num_elements();
  switch (type.dtype) {
    case DType::kInt32:
      return CheckElements<int32_t>(feed.data(), num_elements, limit);
    case DType::kInt64:
      return CheckElements<int64_t>(feed.data(), num_elements, limit);
    case DType::kUInt8:
      return CheckElements<uint8_t>(feed.data(), num_elements, limit);
    default:
      SPILLWAY_CHECK(!"a dtype that cannot index");
  }
}

}  // namespace spillway
