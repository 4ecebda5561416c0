// SwapPlayer: how long a step takes, about, when the tensors of some gaps are
// elsewhere during them. Bytes are summed, not placed, and each copy has the
// link to itself; so a step is played in microseconds where compiling and
// simulating its plan takes milliseconds.
//
// Copies to the host run in the order in which their tensors are written, each
// as soon as it can. Copies back run in the order of their readers, and begin
// just early enough not to be waited for, or, where memory is short, as early
// as it allows. A step that needs bytes waits for the oldest copies to the host
// until there are enough.
#ifndef SPILLWAY_TUNER_MODEL_SWAP_PLAYER_H_
#define SPILLWAY_TUNER_MODEL_SWAP_PLAYER_H_

#include <cstdint>
#include <vector>

#include "base/interval.h"
#include "tuner/model/step_model.h"

namespace spillway {

// By gap: 1 where the tensor is moved.
using MovedGaps = std::vector<char>;

struct PlayedStep {
  bool fits = false;  // the rest is set only if so
  int64_t step_ns = 0;
  int64_t moved_bytes = 0;  // both ways
  // By gap: the step after which its copy back is issued; -1: not moved.
  std::vector<int32_t> back_after = {};
  // By gap: how long kernels waited for its copies.
  std::vector<int64_t> stall_ns = {};
  // When the steps, the copies to the host (by CopyOut) and those back (by gap)
  // run.
  std::vector<Interval> step_ran_ns = {};
  std::vector<Interval> copy_out_ran_ns = {};
  std::vector<Interval> copy_in_ran_ns = {};
};

class SwapPlayer {
 public:
  // The model is borrowed.
  SwapPlayer(const StepModel& model, int64_t budget_bytes);

  // Cost: O(steps + moved gaps * log).
  PlayedStep Play(const MovedGaps& moved) const;

  const StepModel& model() const { return model_; }
  int64_t budget_bytes() const { return budget_bytes_; }

 private:
  const StepModel& model_;
  const int64_t budget_bytes_;
  // Start of each step if nothing is waited for; one more for the end.
  std::vector<int64_t> start_ns_;
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_SWAP_PLAYER_H_
