// JointPlayer: estimates the time of a step in which each tensor is kept,
// swapped or recomputed, in a fraction of a millisecond.
#ifndef SPILLWAY_TUNER_FATES_JOINT_PLAYER_H_
#define SPILLWAY_TUNER_FATES_JOINT_PLAYER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"
#include "tuner/model/step_model.h"
#include "tuner/model/swap_player.h"

namespace spillway {

// What the recomputed tensors alone determine: the step with all clones.
struct RecomputedStep {
  Materialized materialized = {};
  StepModel model = {};              // of the materialized step
  std::vector<int32_t> around = {};  // SpaceGapsOf
};

// nullptr: a chain of clones is too long, or the kernels take `limit_ns` or
// longer.
std::shared_ptr<const RecomputedStep> MakeRecomputedStep(
    const RecomputeSpace& space, const Fates& fates,
    int64_t limit_ns = std::numeric_limits<int64_t>::max());

struct JointStep {
  Fates fates = {};
  // Steps that differ in swaps only may share it.
  std::shared_ptr<const RecomputedStep> recomputed = nullptr;
  MovedGaps moved = {};  // gaps of the model
  PlayedStep played = {};
  int64_t budget_bytes = 0;  // that it was played in

  const Materialized& materialized() const { return recomputed->materialized; }
  const StepModel& model() const { return recomputed->model; }

  // Less is better.
  std::pair<int64_t, int64_t> Key() const {
    return {played.step_ns, played.moved_bytes + materialized().recompute_ns};
  }
};

class JointPlayer {
 public:
  // Borrows the space. Storages below `least_bytes` are not swapped to make
  // room. `host_bytes`: the most bytes of all copies on the host together; 0:
  // only fed tensors leave, since the caller has their bytes.
  JointPlayer(const RecomputeSpace& space, int64_t budget_bytes,
              int64_t least_bytes, int64_t host_bytes = kNoLimit);
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  // Swaps tensors that are kept if the step does not fit, by Belady's rule;
  // then keeps swapped ones for which there is room, the largest first. The
  // result has the fates after that. nullopt: it does not fit, or takes
  // `limit_ns` or longer, which is often known early. `near`: a step of this
  // player; what both have in common is not computed again.
  std::optional<JointStep> Play(Fates fates, int64_t limit_ns = kNoLimit,
                                const JointStep* near = nullptr) const;

  // The device bytes of the step after such swaps; at most the budget if it
  // fits. nullopt: there is no such step.
  std::optional<int64_t> LeastBytes(Fates fates) const;

  // The same, but the fates of these gaps stay as given. By gap of the space;
  // empty: none.
  JointPlayer Pinned(std::vector<char> pinned) const;

  bool IsPinned(size_t gap) const {
    return !pinned_.empty() && pinned_[gap] != 0;
  }
  // Whether the tensor's bytes may be on the host in the gap of the model.
  bool MayLeave(size_t gap) const;

  const RecomputeSpace& space() const { return space_; }
  int64_t budget_bytes() const { return budget_bytes_; }

 private:
  struct Draft;
  std::optional<Draft> MakeDraft(Fates fates, int64_t limit_ns,
                                 const JointStep* near) const;

  const RecomputeSpace& space_;
  const int64_t budget_bytes_;
  const int64_t least_bytes_;
  const int64_t host_bytes_;
  std::vector<char> pinned_ = {};
};

// By step of the original step: the most device bytes of it and the clones
// before it.
std::vector<int64_t> OccupiedBytes(const RecomputeSpace& space,
                                   const JointStep& step);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_FATES_JOINT_PLAYER_H_
