// Steps by hand: kernels and the storages that they use, without a graph. Their
// models, and those of the same steps with clones, are made naively.
#ifndef SPILLWAY_TESTS_TUNER_BOUND_TOY_STEP_H_
#define SPILLWAY_TESTS_TUNER_BOUND_TOY_STEP_H_

#include <cstdint>
#include <random>
#include <vector>

#include "simulator/device_profile.h"
#include "tuner/bound/crowded_steps.h"
#include "tuner/model/step_model.h"

namespace spillway::testing {

struct ToyStorage {
  int64_t bytes = 0;
  // The steps that use it, ascending; the first one writes it. A feed is
  // written by a step of that kind.
  std::vector<int32_t> uses = {};
  // Of a clone; its inputs are resident.
  int64_t remake_ns = kCannotRemake;
  // A storage of the same node, whose clone makes this one too: -1: none.
  int32_t made_with = -1;
  // A storage of equal bytes which the first step of this one reads and may
  // overwrite; -1: none.
  int32_t overwrites = -1;
};

struct ToyStep {
  struct Kernel {
    int64_t ns = 0;
    StepKind kind = StepKind::kCompute;
  };
  std::vector<Kernel> steps = {};
  std::vector<ToyStorage> storages = {};
};

struct ToyModel {
  StepModel model = {};
  // By gap, as JointBoundInputs: of storages of one node, the largest has the
  // time.
  std::vector<int64_t> remake_ns = {};
  std::vector<int32_t> storages = {};  // by gap
};

ToyModel ModelOf(const ToyStep& step, const DeviceProfile& profile);

// The same step, in which a clone before Gap::next fills each gap of `toy` with
// is_recomputed. One clone serves gaps of storages that are made together if it
// lies in all of them. `kept`, by gap: which gap of the result it is, for all
// other gaps; -1: none.
ToyStep WithClones(const ToyStep& step, const ToyModel& toy,
                   const std::vector<bool>& is_recomputed,
                   const DeviceProfile& profile, std::vector<int32_t>& kept);

// Like a network's step: each storage is written by a forward kernel and read
// by the next one and by a backward kernel; the first ones by the last. Some
// are read in between or twice; some are fed, made together, overwritten or
// read by aliases.
ToyStep RandomToyStep(std::mt19937_64& random, int layers);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_BOUND_TOY_STEP_H_
