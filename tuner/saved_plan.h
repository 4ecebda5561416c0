// The result of `tune` as a file, so that other commands can run exactly that
// plan.
//
//     {"format": "spillway.plan", "version": 2, "graph": "resnet50",
//      "fingerprint": "9c0f...", "device_memory": 4294967296, ...}
//
// The file names nodes and tensors. It fits only the graph for which it was
// made.
#ifndef SPILLWAY_TUNER_SAVED_PLAN_H_
#define SPILLWAY_TUNER_SAVED_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/standard_ops.h"
#include "tuner/model/step_recipe.h"

namespace spillway {

// The sizes of the buckets in which ranks exchange gradients: the fields of
// BucketSpec (training/workers/bucket_plan.h).
struct PlannedBuckets {
  int64_t bytes = 0;
  int64_t first_bytes = 0;
  int64_t elements = 0;
};

struct SavedPlan {
  std::string fingerprint = {};  // of the graph for which it was made
  StepRecipe recipe = {};
  // What the step returns; other fetches need another plan.
  std::vector<ValueId> fetches = {};
  // The budgets for which it was made. nullopt: no device budget; for the host,
  // the default of the machine that runs it (DefaultHostMemory).
  std::optional<int64_t> device_memory = {};
  std::optional<int64_t> host_memory = {};
  // The predicted requirements.
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  int64_t step_ns = 0;
  // With which a program builds this graph; nullopt: not known, or the graph
  // has no collectives.
  std::optional<PlannedBuckets> buckets = {};
  // WorkspaceDigest of the predicted plan. Where the kernels that run have the
  // same workspaces, device_bytes and host_bytes must be exact. Empty: unknown.
  std::string workspaces = {};
};

// 16 hex digits: the plan's kernels and the bytes of their workspaces.
std::string WorkspaceDigest(const ExecutionPlan& plan);

// 16 hex digits. Graphs with the same nodes, edges, types and attributes in the
// same order have equal fingerprints; other graphs differ, except by chance.
std::string GraphFingerprint(const Graph& graph);

// INVALID_ARGUMENT if the plan was made for another graph.
absl::Status CheckIsPlanOf(const SavedPlan& plan, const Graph& graph);

// `graph`: the unedited one; `ops`: its ops. Errors: as CheckIsPlanOf;
// INVALID_ARGUMENT for a recipe that does not fit the graph.
absl::StatusOr<std::string> FormatSavedPlan(
    const SavedPlan& plan, const Graph& graph,
    const OpRegistry& ops = StandardOps());

// `ops`: the ops of the graph, to prove that clones and swaps do not change
// what it computes. Errors: INVALID_ARGUMENT naming `source` and the invalid
// field; for a plan of another graph, naming both fingerprints.
absl::StatusOr<SavedPlan> ParseSavedPlan(std::string_view text,
                                         std::string_view source,
                                         const Graph& graph,
                                         const OpRegistry& ops = StandardOps());
// SavedPlan::buckets of a file, without the graph. Errors: as ParseSavedPlan.
absl::StatusOr<std::optional<PlannedBuckets>> LoadPlanBuckets(
    const std::string& path);

absl::StatusOr<SavedPlan> LoadPlan(const std::string& path, const Graph& graph,
                                   const OpRegistry& ops = StandardOps());

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SAVED_PLAN_H_
