// Options of large-model support. Names and meanings are TFLMS's; what each
// does and where we depart from the original is told in docs/lms.md.
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
  kOff,   // the graph stays as it is
  kV1,    // TFLMS version 1: forward and backward phase, told apart by scope
  kV2,    // TFLMS version 2: distance in levels over the whole graph
  kAuto,  // the tuner chooses (tuner/search/tune_swaps.h): no edit by itself
};

// Version 1: how the trigger of a swap-in is found.
enum class ControlStrategy : uint8_t {
  kChainRule,    // follow the forward graph, take the backward partner
  kDirectOrder,  // walk back from the reader in topological order
};

// Version 1.
struct LmsV1Options {
  // Scopes whose nodes are the backward and update phase. Empty: every scope
  // that has a `gradients` scope in it, which is where Minimize puts them.
  std::vector<std::string> optimizer_scopes = {};

  // Where the forward phase begins: all nodes of a scope, and nodes by name.
  // Both empty: found automatically. Each must exist.
  std::string starting_scope = {};
  std::vector<std::string> starting_op_names = {};

  // Whose outputs never move, and, if any is given, whose alone may. Exclusion
  // wins. Scopes match whole path components; each must match something.
  std::vector<std::string> excl_scopes = {};
  std::vector<std::string> incl_scopes = {};
  std::vector<std::string> excl_types = {};
  std::vector<std::string> incl_types = {};

  // Most tensors to swap, counted from the input side; -1: all, 0: none.
  int64_t n_tensors = -1;

  // How much earlier than its reader a swap-in starts: at least `lb` (>= 0),
  // less than `ub`. Counts forward depth (chain rule) or topological orders.
  int64_t lb = 1;
  int64_t ub = 10000;

  ControlStrategy ctrld_strategy = ControlStrategy::kChainRule;

  // One swap-in for all readers of a tensor.
  bool fuse_swapins = false;

  // Also swap towards forward readers more than `branch_threshold` (>= 0)
  // orders after the first of them.
  bool swap_branches = false;
  int64_t branch_threshold = 0;
};

// Version 2. A number of -1 is left to the tuner.
struct LmsV2Options {
  // A tensor is swapped towards readers more than this many levels away; >= 1.
  int64_t swapout_threshold = -1;
  // How many levels before its first reader a swap-in starts; >= 1.
  int64_t swapin_ahead = -1;
  // Readers whose levels differ by no more share a swap-in; >= 0.
  int64_t swapin_groupby = -1;
  // 0: copies run beside compute; 1: a tensor's other readers wait for
  // its copy-out, 2: swap-ins start only when their reader is otherwise ready,
  // 3: both.
  int64_t sync_mode = 0;

  // Levels whose nodes are chained one after the other: numbers and slices
  // "first:end" or "first:end:step" as in Python (`end` is left out).
  std::vector<std::string> serialization = {};
  // Also levels whose nodes' inputs and outputs exceed this; GiB, 0: none.
  double serialization_by_size_gib = 0;

  // Whether the graph trains: batch norms made for the other are not looked at.
  bool is_training = true;

  // Sources (`output_by`) and readers (`input_by`) that are left alone, and, if
  // any is given, those alone that take part. Scopes are prefixes of names.
  std::vector<std::string> excl_output_by_scopes = {};
  std::vector<std::string> excl_output_by_types = {};
  std::vector<std::string> excl_input_by_scopes = {};
  std::vector<std::string> excl_input_by_types = {};
  std::vector<std::string> incl_output_by_scopes = {};
  std::vector<std::string> incl_output_by_types = {};
  std::vector<std::string> incl_input_by_scopes = {};
  std::vector<std::string> incl_input_by_types = {};
};

struct LmsOptions {
  LmsMode mode = LmsMode::kOff;

  // All else by default.
  static LmsOptions Auto() { return {.mode = LmsMode::kAuto}; }
  static LmsOptions V1(LmsV1Options v1 = {}) {
    return {.mode = LmsMode::kV1, .v1 = std::move(v1)};
  }
  static LmsOptions V2(LmsV2Options v2 = {}) {
    return {.mode = LmsMode::kV2, .v2 = std::move(v2)};
  }

  // Tensors smaller than this never move. Bytes, >= 0.
  int64_t size_threshold_bytes = 0;

  // Reproduce the original's choices where ours differ: swap-ins without a
  // trigger, swaps without a useful gap.
  bool compat = false;

  // Log lines: 0 what was done, 1 each swap, 2 each step of the search.
  int64_t debug_level = 0;

  // Those of the version that is not the mode have no effect.
  LmsV1Options v1 = {};
  LmsV2Options v2 = {};
};

std::string_view LmsModeName(LmsMode mode);  // "off", "auto", ...
std::string_view ControlStrategyName(ControlStrategy strategy);
std::optional<ControlStrategy> ParseControlStrategy(std::string_view name);

// Whether some of it is left to the tuner: mode kAuto, or a number of version 2
// that is -1 and has an effect.
bool NeedsTuning(const LmsOptions& options);

// INVALID_ARGUMENT naming the first option out of its range; what is to be
// tuned is in it.
absl::Status CheckRanges(const LmsOptions& options);

// As CheckRanges, and INVALID_ARGUMENT for what is to be tuned: an edit cannot.
absl::Status CheckOptions(const LmsOptions& options);

// Numbers of options are at most 2^62, so that sums of two do not overflow.
absl::Status CheckIsBelowMost(std::string_view name, int64_t value);

}  // namespace spillway

#endif  // SPILLWAY_LMS_OPTIONS_H_
