// Converts fates of tensors to a step: the clones that they need, where each of
// them runs, and which tensors are on the host meanwhile.
//
// A clone runs right before the first step that reads it. What it reads, its
// sources, is on the device already, or comes back from the host, or is made
// again first, by a chain of clones:
//
//   steps     conv1  relu1  conv2 ...   | relu1'  conv2'|  filter gradient
//   conv1     made ----------- kept --------read
//   relu1            made - read            made - read     read: retained
//   conv2                   made -                 made --- read
//
// Here, both outputs of relu1 and conv2 are recomputed; the chain for the
// filter gradient also makes relu1 again, which stays (is retained) for its
// next reader in the original step. Fates::released says otherwise.
#ifndef SPILLWAY_TUNER_MODEL_MATERIALIZE_H_
#define SPILLWAY_TUNER_MODEL_MATERIALIZE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/order/schedule.h"
#include "lms/recompute/recompute_plan.h"
#include "tuner/model/recompute_space.h"
#include "tuner/model/step_list.h"
#include "tuner/model/step_model.h"

namespace spillway {

// Where a storage is during a gap.
enum class Fate : uint8_t {
  kKept,        // on the device
  kSwapped,     // on the host
  kRecomputed,  // nowhere: a clone makes it again
};
std::string_view FateName(Fate fate);  // "kept", "swapped", "recomputed"

// Of Fates::released: all of them.
inline constexpr uint8_t kReleaseAll = 255;

// By gap of a RecomputeSpace, tails included.
struct Fates {
  std::vector<Fate> of_gap = {};
  // Clones that make the storage within the gap for other clones: so many of
  // them, the first ones, are not retained for the reader after the gap, for
  // which another clone runs. Later ones are cheaper to retain. What is made
  // again within a tail is never retained.
  std::vector<uint8_t> released = {};

  friend bool operator==(const Fates&, const Fates&) = default;
};

// Fates, the order of the kernels that their space was made for, and the device
// bytes that they were chosen for.
struct FateChoice {
  Schedule schedule = {};
  Fates fates = {};
  int64_t budget_bytes = 0;
};

// All kept; what is read in the tail of a storage that can be made again is
// made again (nothing but clones reads it there).
Fates KeepAll(const RecomputeSpace& space);

// The step with the clones and without swaps.
struct Materialized {
  // Its nodes and values have the ids that ApplyRecomputePlan gives them.
  StepList list = {};
  // By step of the list: the original step, or the one before which the clone
  // runs.
  std::vector<int32_t> base_step = {};
  std::vector<StorageIndex> base_storage = {};  // by storage of the list
  std::vector<int32_t> clones = {};  // by clone: an index into remakes
  int64_t recompute_ns = 0;          // kernels of the clones
};

// A storage whose tail has the fate kRecomputed stays if a variable that it
// depends on is updated before. nullopt: a chain is longer than 1000 clones.
// Cost: O(slots + clones).
std::optional<Materialized> Materialize(const RecomputeSpace& space,
                                        const Fates& fates);

// By gap of `model`, that of the materialized list: the gap of the space around
// it, or -1.
std::vector<int32_t> SpaceGapsOf(const RecomputeSpace& space,
                                 const Materialized& materialized,
                                 const StepModel& model);

// The edit that makes these clones.
RecomputePlan PlanOf(const RecomputeSpace& space,
                     const Materialized& materialized);

// The order of the edited graph's nodes.
Schedule ScheduleOf(const RecomputeSpace& space,
                    const Materialized& materialized);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_MATERIALIZE_H_
