// Which nodes read the bytes of a storage, and under which names, for swapping.
#ifndef SPILLWAY_LMS_STORAGE_READERS_H_
#define SPILLWAY_LMS_STORAGE_READERS_H_

#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/storage.h"
#include "lms/options.h"
#include "lms/swap_plan.h"

namespace spillway {

// The original TFLMS ignores aliases: with options.compat each value is a
// separate storage.
StorageMap StoragesFor(const LmsOptions& options, const OpRegistry& ops,
                       const Graph& graph);

// Whether the storage of `value` may be swapped, and `value` is its root. A
// storage is swapped only under its root, and only if a copy can replace its
// bytes.
bool MaySwap(const StorageMap& storages, ValueId value);

// Nodes that read the bytes of swap.value on the device although it is swapped,
// each once, by id: readers that belong to no swap-in, and aliases that run
// even without a moved reader (a node waits for them, or no node reads them).
std::vector<NodeId> DirectReaders(const Graph& graph,
                                  const StorageMap& storages, const Swap& swap);

// The pure aliases between the root of the storage and its values `names`, each
// after the alias that it reads.
std::vector<NodeId> AliasesBetween(const Graph& graph,
                                   const StorageMap& storages,
                                   const Storage& storage,
                                   std::span<const ValueId> names);

// The aliases between the root and the values of the storage that `readers`
// read.
std::vector<NodeId> AliasesReadBy(const Graph& graph,
                                  const StorageMap& storages,
                                  const Storage& storage,
                                  std::span<const NodeId> readers);

}  // namespace spillway

#endif  // SPILLWAY_LMS_STORAGE_READERS_H_
