// Who holds the bytes of a storage, and under which names, as swapping sees it.
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

// The originals know nothing of aliases: with options.compat each value is a
// storage of its own.
StorageMap StoragesFor(const LmsOptions& options, const OpRegistry& ops,
                       const Graph& graph);

// The value is the one name under which its storage may be swapped: the root of
// bytes that a copy can stand in for.
bool MaySwap(const StorageMap& storages, ValueId value);

// Nodes that read the bytes of swap.value on the device whatever comes back,
// each once, by id: readers that no swap-in has, and aliases that run for their
// own sake (a node waits for them, or nobody reads them).
std::vector<NodeId> DirectReaders(const Graph& graph,
                                  const StorageMap& storages, const Swap& swap);

// The pure aliases between the root of the storage and its values `names`, each
// after the one that it reads.
std::vector<NodeId> AliasesBetween(const Graph& graph,
                                   const StorageMap& storages,
                                   const Storage& storage,
                                   std::span<const ValueId> names);

// Those between the root and what `readers` read of the storage.
std::vector<NodeId> AliasesReadBy(const Graph& graph,
                                  const StorageMap& storages,
                                  const Storage& storage,
                                  std::span<const NodeId> readers);

}  // namespace spillway

#endif  // SPILLWAY_LMS_STORAGE_READERS_H_
