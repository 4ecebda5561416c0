// The range of what is fed to inputs that kernels index by
// (OpDef::index_inputs), labels above all. It is checked on the host before a
// step runs: a label out of range is the same error on every device, also on
// those whose kernels cannot report one, and leaves the session as it was.
//
//   labels -> Identity -> Reshape -> SwapOut -> SwapIn -> loss (10 classes)
//
// A Placeholder has the limit of a reader that its bytes reach unchanged:
// through pure aliases (graph/storage.h) and swaps. What an op computes from it
// (Cast, Slice) only the reader's kernel sees, and likewise what some node
// overwrites.
#ifndef SPILLWAY_EXECUTOR_SESSION_FEED_LIMITS_H_
#define SPILLWAY_EXECUTOR_SESSION_FEED_LIMITS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "executor/session/feed.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// Elements must be in [0, limit).
struct FeedLimit {
  int64_t limit = 0;
  std::string reader = {};  // the node that asks for it
};

// By the output of the Placeholder; those that no node indexes by are absent.
using FeedLimits = std::map<ValueId, FeedLimit>;

// The lowest limit among the readers for which `keep` is set, of equals that of
// the lowest NodeId. `graph` has passed VerifyGraph. Cost: O(nodes + edges).
// Errors: as IndexLimits (graph/index_limits.h), naming the node.
absl::StatusOr<FeedLimits> FindFeedLimits(const Graph& graph,
                                          const OpRegistry& ops,
                                          const IdMap<NodeId, bool>& keep);

// `feed` has passed Feed::Check for `type`, which is of int32, int64 or uint8.
// Allocates nothing unless it fails. Cost: O(elements). Errors:
// INVALID_ARGUMENT with the first element out of range, its value, the reader
// and the range.
absl::Status CheckRange(const Feed& feed, const TensorType& type,
                        const FeedLimit& limit);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_FEED_LIMITS_H_
