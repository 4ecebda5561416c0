// The classic policies against which the joint planner is compared, by name.
//
//   name              tensors that do not fit are          header
//   keep_all          (the step does not fit)              same_for_all.h
//   swap_all          swapped, like all others             same_for_all.h
//   tflms_v1          swapped, by the best usual set of    search/tflms_sets.h
//   tflms_v2            TFLMS options of that version
//   tflms             swapped, as TFLMS's search chooses   lms/tflms/search.h
//   swap_per_tensor   swapped, as our search chooses       search/swap_search.h
//   cheap, sqrt       recomputed, then swapped             checkpoints.h
//   vdnn_all, _conv   swapped                              vdnn.h
//   capuchin          swapped, recomputed                  capuchin.h
//   dtr               recomputed                           dtr.h
//   knapsack          recomputed                           knapsack.h
//   recompute_all     recomputed, like all others          same_for_all.h
//   lru, mru, lfu, min_evict, align_memory, belady:        gpu_memory_manager.h
//                     evicted while the step runs
//   caffe             evicted while the step runs          play_caffe.h
//   unified_64k, _2m  evicted in pages                     play_unified.h
//
// Policies up to recompute_all are realised: compiled within the budget,
// verified and simulated, like the plans of the tuner. The others make no plan
// and are played.
#ifndef SPILLWAY_TUNER_POLICIES_POLICIES_H_
#define SPILLWAY_TUNER_POLICIES_POLICIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/bound/lower_bound.h"
#include "tuner/model/evaluate.h"

namespace spillway {

struct PolicyResult {
  std::string name = {};
  bool is_realised = false;  // compiled and simulated, or else only played
  bool fits = false;
  std::string reason = {};  // why it does not fit; then the next four are 0
  int64_t step_ns = 0;
  int64_t device_bytes = 0;  // the most at once
  int64_t moved_bytes = 0;   // over the link, both ways, feeds included
  int64_t recompute_ns = 0;  // kernels of clones
  // No plan of its class (what it may swap or recompute) is faster within the
  // budget, for the order of the kernels that it has: FindJointBound; nullopt:
  // none fits. Played policies may also evict fetched tensors for good. For
  // pages, whose parts of tensors that bound does not cover, it is the time of
  // the kernels.
  std::optional<int64_t> bound_ns = {};
};

struct EvaluatedPolicy {
  PolicyResult result = {};
  // The plan; nullopt: it does not fit, or it makes none.
  std::optional<EvaluatedRecipe> chosen = {};
  StepTimeBound bound = {};  // what result.bound_ns consists of
};

// All names, in the order above.
const std::vector<std::string>& PolicyNames();

// Whether the policy of this name is realised, so that its plan can be run.
bool MakesPlan(std::string_view name);

// Realises or plays one policy. `inputs`: with a device budget and with
// choices. Fates and run-time policies take the nodes in creation order, TFLMS
// in the memory-saving order. If buffers cannot be placed without holes, a
// realised policy is asked again with slightly smaller budgets.
//
// Deterministic. Cost: of a few evaluations (EvaluateByTime). Errors:
// INVALID_ARGUMENT for an unknown name, with all names, and for inputs without
// a budget or choices; none if the policy does not fit, which the result tells.
absl::StatusOr<EvaluatedPolicy> EvaluatePolicy(const TunerInputs& inputs,
                                               std::string_view name);

// The table of all policies, in the order of PolicyNames(). Errors: as
// EvaluatePolicy.
absl::StatusOr<std::vector<PolicyResult>> ComparePolicies(
    const TunerInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_POLICIES_H_
