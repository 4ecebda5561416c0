// Options of large-model support. Names and meanings are TFLMS's; what each
// does and where we depart from the original is told in docs/lms.md.
#ifndef SPILLWAY_LMS_OPTIONS_H_
#define SPILLWAY_LMS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace spillway {

enum class LmsMode : uint8_t {
  kOff,  // the graph stays as it is
  kV1,   // TFLMS version 1: forward and backward phase, told apart by scope
};

// How the trigger of a swap-in is found.
enum class ControlStrategy : uint8_t {
  kChainRule,    // follow the forward graph, take the backward partner
  kDirectOrder,  // walk back from the reader in topological order
};

struct LmsOptions {
  LmsMode mode = LmsMode::kOff;

  // Scopes whose nodes are the backward and update phase. Empty: every scope
  // that has a `gradients` scope in it, which is where Minimize puts them.
  std::vector<std::string> optimizer_scopes = {};

  // Most tensors to swap, counted from the input side; -1: all, 0: none.
  int64_t n_tensors = -1;

  // How much earlier than its reader a swap-in starts: at least `lb` (>= 0),
  // less than `ub`. Counts forward depth (chain rule) or topological orders.
  int64_t lb = 1;
  int64_t ub = 10000;

  ControlStrategy ctrld_strategy = ControlStrategy::kChainRule;

  // Tensors smaller than this never move. Bytes.
  int64_t size_threshold_bytes = 0;

  // Reproduce the original's choices where ours differ: swap-ins without a
  // trigger, swaps without a useful gap.
  bool compat = false;
};

std::string_view LmsModeName(LmsMode mode);  // "off", "v1"
std::string_view ControlStrategyName(ControlStrategy strategy);
std::optional<ControlStrategy> ParseControlStrategy(std::string_view name);

// INVALID_ARGUMENT naming the first option out of its range.
absl::Status CheckOptions(const LmsOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_LMS_OPTIONS_H_
