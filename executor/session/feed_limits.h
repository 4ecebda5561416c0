// The range of feeds for inputs that kernels use as indices
// (OpDef::index_inputs), most often labels. It is checked on the host before a
// step runs: a label out of range is the same error on every device, including
// devices whose kernels cannot report one, and leaves the session unchanged.
//
//   labels -> Identity -> Reshape -> SwapOut -> SwapIn -> loss (10 classes)
//
// A Placeholder has the limit of a reader that its bytes reach unchanged:
// through pure aliases (graph/storage.h) and swaps. Only the reader's kernel
// sees a value that an op computes from it (Cast, Slice), or bytes that some
// node overwrites.
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
  std::string reader = {};  // the node that has this limit
};

// By the output of the Placeholder; absent if no node uses it as an index.
using FeedLimits = std::map<ValueId, FeedLimit>;

// The lowest limit among the readers for which `keep` is set; ties go to the
// lowest NodeId. `graph` has passed VerifyGraph. Cost: O(nodes + edges).
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
