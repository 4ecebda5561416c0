#include "tuner/bound/joint_bound.h"

#include <algorithm>

#include "tuner/bound/joint_tests.h"

namespace spillway {
namespace {

// As in lower_bound.cc: an excess over the kernels that does not matter.
constexpr int64_t kLeastExcessPart = 20;

// The precision of the bisection, as a part of the time.
constexpr int64_t kFineParts = int64_t{1} << 20;
constexpr int64_t kCoarseParts = 1000;

// Longer than any step, but leaves room for sums.
constexpr int64_t kForeverNs = int64_t{1} << 56;

// Models with at most this many pairs of a crowded kernel and a gap round to
// whole tensors in every test.
constexpr int64_t kFewPairs = 20'000;

class Bisection {
 public:
  Bisection(JointTests& tests, int64_t known_ns)
      : tests_(tests),
        parts_(tests.crowd().has_all ? kFineParts : kCoarseParts),
        known_ns_(known_ns) {}

  JointBound Run() {
    // Free recomputation, and copies as it leaves them.
    bound_ = tests_.BoundAssuming(kForeverNs, true);
    if (bound_.step_ns > kForeverNs) return bound_;
    int64_t most = known_ns_ > 0 ? known_ns_ : FirstPassed();
    while (most - bound_.step_ns > bound_.step_ns / parts_) {
      const int64_t middle = bound_.step_ns + (most - bound_.step_ns) / 2;
      if (Passes(middle, IsSmall())) most = middle;
    }
    if (most > bound_.step_ns) Passes(most, true);
    return bound_;
  }

 private:
  bool IsSmall() const {
    int64_t pairs = 0;
    for (const CrowdedStep& step : tests_.crowd().steps) {
      pairs += static_cast<int64_t>(step.gaps.size() + step.written.size());
    }
    return pairs <= kFewPairs;
  }

  // Whether no test fails for the time. Raises the bound.
  bool Passes(int64_t step_ns, bool is_thorough) {
    const JointBound bound = tests_.BoundAssuming(step_ns, is_thorough);
    if (bound.step_ns > bound_.step_ns) bound_ = bound;
    return bound.step_ns <= step_ns;
  }

  // A time that passes; doubles the step between two tries.
  int64_t FirstPassed() {
    int64_t ahead = bound_.step_ns / 64 + 1;
    while (ahead < kForeverNs) {
      const int64_t tried = bound_.step_ns + ahead;
      if (Passes(tried, IsSmall())) return tried;
      ahead *= 2;
    }
    return bound_.step_ns;
  }

  JointTests& tests_;
  const int64_t parts_;
  const int64_t known_ns_;
  JointBound bound_;
};

JointBound BoundOfSwaps(const JointBoundInputs& inputs) {
  return BoundOfPath(LongestPath({.model = inputs.model,
                                  .profile = inputs.profile,
                                  .budget_bytes = inputs.budget_bytes}),
                     inputs.model);
}

}  // namespace

JointBound FindJointBound(const JointBoundInputs& inputs, int64_t known_ns) {
  JointTests tests(inputs);
  if (tests.crowd().impossible_bytes > 0) {
    return {.is_feasible = false,
            .kernels_ns = inputs.model.kernels_ns,
            .tight_step = tests.crowd().impossible_step,
            .missing_bytes = tests.crowd().impossible_bytes};
  }
  const bool only_swaps = std::ranges::all_of(
      inputs.remake_ns, [](int64_t ns) { return ns == kCannotRemake; });
  if (only_swaps && CanSwap(inputs)) return BoundOfSwaps(inputs);
  return Bisection(tests, known_ns).Run();
}

std::string BoundReason(const JointBound& bound) {
  const int64_t excess_ns = bound.step_ns - bound.kernels_ns;
  if (excess_ns * kLeastExcessPart < bound.step_ns || excess_ns == 0) {
    return "compute";
  }
  const int64_t most_ns =
      std::max({bound.out_ns, bound.in_ns, bound.recompute_ns, bound.issue_ns});
  if (bound.recompute_ns == most_ns) return "recomputation";
  if (bound.out_ns == most_ns) return "copies to the host";
  return bound.in_ns == most_ns ? "copies to the device" : "the host's calls";
}

}  // namespace spillway
