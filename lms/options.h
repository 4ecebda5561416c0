// Options of large-model support. Names and meanings are those of TFLMS;
// docs/lms.md describes each option and where Spillway departs from the
// original.
#ifndef SPILLWAY_LMS_OPTIONS_H_
#define SPILLWAY_LMS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace spillway {

enum class LmsMode : uint8_t {
  kOff,   // the graph is unchanged
  kV1,    // TFLMS version 1: forward and backward phase, distinguished by scope
  kV2,    // TFLMS version 2: distance in levels over the whole graph
  kAuto,  // the tuner chooses the options (tuner/search/tune_swaps.h)
};

// Version 1: how the trigger of a swap-in is found.
enum class ControlStrategy : uint8_t {
  kChainRule,    // follow the forward graph, take the backward partner
  kDirectOrder,  // walk back from the reader in topological order
};

// Version 1.
struct LmsV1Options {
  // Scopes whose nodes are the backward and update phase. Empty: every scope
  // that contains a `gradients` scope, where Minimize puts these nodes.
  std::vector<std::string> optimizer_scopes = {};

  // Where the forward phase begins: all nodes of a scope, and nodes by name.
  // Both empty: found automatically. Each must exist.
  std::string starting_scope = {};
  std::vector<std::string> starting_op_names = {};

  // excl_*: scopes and ops whose outputs never move. incl_*: if any is given,
  // only their outputs may move. Exclusion wins. Scopes match whole path
  // components; each must match at least one node.
  std::vector<std::string> excl_scopes = {};
  std::vector<std::string> incl_scopes = {};
  std::vector<std::string> excl_types = {};
  std::vector<std::string> incl_types = {};

  // Largest number of tensors to swap, counted from the input side; -1: all, 0:
  // none.
  int64_t n_tensors = -1;

  // How much earlier than its reader a swap-in starts: at least `lb` (>= 0),
  // less than `ub`. Counted in forward depth (chain rule) or topological
  // orders.
  int64_t lb = 1;
  int64_t ub = 10000;

  ControlStrategy ctrld_strategy = ControlStrategy::kChainRule;

  // One swap-in for all readers of a tensor.
  bool fuse_swapins = false;

  // Also swap for forward readers that come more than `branch_threshold` (>= 0)
  // orders after the first of them.
  bool swap_branches = false;
  int64_t branch_threshold = 0;
};

// Version 2. The tuner chooses a number that is -1.
struct LmsV2Options {
  // A tensor is swapped for readers more than this many levels away; >= 1.
  int64_t swapout_threshold = -1;
  // How many levels before its first reader a swap-in starts; >= 1.
  int64_t swapin_ahead = -1;
  // Readers whose levels differ by at most this number share a swap-in; >= 0.
  int64_t swapin_groupby = -1;
  // 0: copies run concurrently with compute; 1: a tensor's other readers wait
  // for its swap-out; 2: a swap-in starts only when its reader needs nothing
  // else; 3: both 1 and 2.
  int64_t sync_mode = 0;

  // Levels whose nodes are chained one after the other: numbers and slices
  // "first:end" or "first:end:step" as in Python (`end` is excluded).
  std::vector<std::string> serialization = {};
  // Also chains levels whose nodes' inputs and outputs exceed this; GiB, 0:
  // none.
  double serialization_by_size_gib = 0;

  // Whether the graph trains; batch norms for the other mode are ignored.
  bool is_training = true;

  // excl_*: sources (`output_by`) and readers (`input_by`) that are left alone.
  // incl_*: if any is given, only these take part. Scopes are prefixes of
  // names.
  std::vector<std::string> excl_output_by_scopes = {};
  std::vector<std::string> excl_output_by_types = {};
  std::vector<std::string> excl_input_by_scopes = {};
  std::vector<std::string> excl_input_by_types = {};
  std::vector<std::string> incl_output_by_scopes = {};
  std::vector<std::string> incl_output_by_types = {};
  std::vector<std::string> incl_input_by_scopes = {};
  std::vector<std::string> incl_input_by_types = {};
};

// Which values are computed a second time for the backward phase, so that their
// bytes need not wait for it on the device.
enum class RecomputePolicy : uint8_t {
  kOff,
  kCheap,  // outputs of ops that are bound by memory traffic
  kSqrt,   // all but checkpoints: Chen et al., "Training Deep Nets with
           // Sublinear Memory Cost" (2016)
  kAuto,   // the tuner's choice with LmsMode::kAuto, else as kOff
};

// Recomputation; docs/recompute.md describes it.
struct RecomputeOptions {
  RecomputePolicy policy = RecomputePolicy::kAuto;
  // Scopes and ops whose nodes are never computed again. Scopes match whole
  // path components; each scope and op must occur in the graph.
  std::vector<std::string> excl_scopes = {};
  std::vector<std::string> excl_types = {};
};

struct LmsOptions {
  LmsMode mode = LmsMode::kOff;

  // All other options have their defaults.
  static LmsOptions Auto() { return {.mode = LmsMode::kAuto}; }
  static LmsOptions V1(LmsV1Options v1 = {}) {
    return {.mode = LmsMode::kV1, .v1 = std::move(v1)};
  }
  static LmsOptions V2(LmsV2Options v2 = {}) {
    return {.mode = LmsMode::kV2, .v2 = std::move(v2)};
  }

  // Tensors smaller than this never move and are never recomputed. Bytes, >= 0.
  int64_t size_threshold_bytes = 0;

  // Reproduce the original's choices where Spillway's differ: swap-ins without
  // a trigger, swaps without a useful gap.
  bool compat = false;

  // Log lines: 0 the result, 1 each swap, 2 each step of the search.
  int64_t debug_level = 0;

  // Applied before the swaps are planned, which then see the recomputed nodes
  // as nodes of the backward phase. Not with `compat`.
  RecomputeOptions recompute = {};

  // The options of the version that is not selected by `mode` have no effect.
  LmsV1Options v1 = {};
  LmsV2Options v2 = {};
};

std::string_view LmsModeName(LmsMode mode);  // "off", "auto", ...
std::string_view RecomputePolicyName(RecomputePolicy policy);
std::optional<RecomputePolicy> ParseRecomputePolicy(std::string_view name);
std::string_view ControlStrategyName(ControlStrategy strategy);
std::optional<ControlStrategy> ParseControlStrategy(std::string_view name);

// Whether a fixed policy says what is recomputed: kCheap or kSqrt.
bool Recomputes(const LmsOptions& options);

// Whether the tuner chooses what is recomputed. Not in compat mode, since TFLMS
// recomputes nothing.
bool TunesRecomputation(const LmsOptions& options);

// Whether the tuner has to choose something: mode kAuto, or a number of version
// 2 that is -1 and has an effect.
bool NeedsTuning(const LmsOptions& options);

// INVALID_ARGUMENT naming the first option that is out of range; a value that
// leaves the choice to the tuner is in range.
absl::Status CheckRanges(const LmsOptions& options);

// As CheckRanges, and INVALID_ARGUMENT if NeedsTuning: an edit cannot tune.
absl::Status CheckOptions(const LmsOptions& options);

// Numbers of options are at most 2^62, so that sums of two do not overflow.
absl::Status CheckIsBelowMost(std::string_view name, int64_t value);

}  // namespace spillway

#endif  // SPILLWAY_LMS_OPTIONS_H_
