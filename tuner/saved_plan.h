// What `tune` chose, as a file, so that other commands run just that.
//
//     {"format": "spillway.plan", "version": 1, "graph": "resnet50",
//      "fingerprint": "9c0f...", "device_memory": 4294967296, ...}
//
// The file names nodes and tensors; it fits the graph that it was made for and
// no other.
#ifndef SPILLWAY_TUNER_SAVED_PLAN_H_
#define SPILLWAY_TUNER_SAVED_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/standard_ops.h"
#include "tuner/model/step_recipe.h"

namespace spillway {

struct SavedPlan {
  std::string fingerprint = {};  // of the graph that it was made for
  StepRecipe recipe = {};
  // What the step returns; other fetches would need another plan.
  std::vector<ValueId> fetches = {};
  // The budgets that it was made for. None: no budget of the device; the
  // default of the machine that runs it for the host (DefaultHostMemory).
  std::optional<int64_t> device_memory = {};
  std::optional<int64_t> host_memory = {};
  // What it was predicted to need.
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  int64_t step_ns = 0;
};

// 16 hex digits: equal if and (but for chance) only if both graphs have the
// same nodes, edges, types and attributes in the same order.
std::string GraphFingerprint(const Graph& graph);

// INVALID_ARGUMENT if the plan was made for another graph.
absl::Status CheckIsPlanOf(const SavedPlan& plan, const Graph& graph);

// `graph`: without swaps. Errors: as CheckIsPlanOf; INVALID_ARGUMENT for a
// recipe that does not fit the graph.
absl::StatusOr<std::string> FormatSavedPlan(const SavedPlan& plan,
                                            const Graph& graph);

// `ops`: of the graph, to prove that the swaps leave what it computes. Errors:
// INVALID_ARGUMENT naming `source` and the field that is wrong; for a plan of
// another graph, both fingerprints.
absl::StatusOr<SavedPlan> ParseSavedPlan(std::string_view text,
                                         std::string_view source,
                                         const Graph& graph,
                                         const OpRegistry& ops = StandardOps());
absl::StatusOr<SavedPlan> LoadPlan(const std::string& path, const Graph& graph,
                                   const OpRegistry& ops = StandardOps());

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SAVED_PLAN_H_
