#include "lms/recompute/plan_recompute.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/storage.h"
#include "lms/check_unedited.h"
#include "lms/recompute/cheap_policy.h"
#include "lms/recompute/checkpoint_policy.h"
#include "lms/recompute/forward_values.h"
#include "lms/recompute/make_clones.h"

namespace spillway {

absl::StatusOr<RecomputePlan> PlanRecompute(const LmsOptions& options,
                                            const OpRegistry& ops,
                                            const Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckRanges(options));
  if (!Recomputes(options)) return RecomputePlan{};
  SPILLWAY_RETURN_IF_ERROR(CheckIsUnedited(graph));
  const StorageMap storages = StorageMap::Of(graph, ops);
  SPILLWAY_ASSIGN_OR_RETURN(const ForwardValues values,
                            ForwardValues::Of(options, ops, storages, graph));
  const int64_t least_bytes = options.size_threshold_bytes;
  std::vector<DroppedCandidate> dropped;
  const IdMap<StorageId, bool> is_remade =
      options.recompute.policy == RecomputePolicy::kCheap
          ? ChooseCheap(values, least_bytes, dropped)
          : ChooseBetweenCheckpoints(values, least_bytes);
  RecomputePlan plan = MakeClones(values, is_remade);
  plan.dropped.insert(plan.dropped.begin(), dropped.begin(), dropped.end());
  return plan;
}

}  // namespace spillway
