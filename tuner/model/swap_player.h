// SwapPlayer: estimates the time of a step if the tensors of some gaps are on
// the host during them. It sums bytes instead of placing them, and slows a
// copy down only by copies in the other direction that began before. So it
// plays a step in microseconds, while compiling and simulating a plan takes
// milliseconds.
//
// Copies to the host run in the order in which their tensors are written, each
// as soon as possible. Copies back run in the order of their readers. Each
// begins just early enough to avoid a stall or, if memory is short, as early as
// memory allows. A step that needs bytes waits for the oldest copies to the
// host until enough are free. Where copies slow kernels (on CPUs), the kernel
// after a copy's begin takes longer by all that the copy costs.
#ifndef SPILLWAY_TUNER_MODEL_SWAP_PLAYER_H_
#define SPILLWAY_TUNER_MODEL_SWAP_PLAYER_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "base/interval.h"
#include "tuner/model/step_model.h"

namespace spillway {

// By gap: 1 if the tensor moves.
using MovedGaps = std::vector<char>;

struct PlayedStep {
  // The other fields are set only if true. False: the step does not fit, or is
  // not faster than the limit.
  bool fits = false;
  int64_t step_ns = 0;
  int64_t moved_bytes = 0;  // both ways
  // By gap: the step after which its copy back is issued; -1: not moved.
  std::vector<int32_t> back_after = {};
  // By gap: the time that kernels waited for its copies.
  std::vector<int64_t> stall_ns = {};
  // When the steps, the copies to the host (by CopyOut) and the copies back (by
  // gap) run.
  std::vector<Interval> step_ran_ns = {};
  std::vector<Interval> copy_out_ran_ns = {};
  std::vector<Interval> copy_in_ran_ns = {};
};

class SwapPlayer {
 public:
  // Borrows the model.
  SwapPlayer(const StepModel& model, int64_t budget_bytes);

  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  // Steps that take `limit_ns` or longer need not be played to their end.
  // Cost: O(steps + moved gaps * log).
  PlayedStep Play(const MovedGaps& moved, int64_t limit_ns = kNoLimit) const;

  const StepModel& model() const { return model_; }
  int64_t budget_bytes() const { return budget_bytes_; }

 private:
  const StepModel& model_;
  const int64_t budget_bytes_;
  // Start of each step without stalls; one more for the end.
  std::vector<int64_t> start_ns_;
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_SWAP_PLAYER_H_
