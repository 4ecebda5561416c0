// What a training has to remember beside its session, so that it can go on.
#ifndef SPILLWAY_TRAINING_LOOP_TRAINING_STATE_H_
#define SPILLWAY_TRAINING_LOOP_TRAINING_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "training/loop/loss_scale.h"
#include "training/safetensors.h"

namespace spillway {

struct TrainingState {
  int64_t updates = 0;  // done
  // Of a training whose loss scale changes.
  std::optional<LossScaleState> loss_scale = {};
  // The order in which it reads its rows, as text (DescribeRows in
  // training/loop/micro_batch_reader.h): a training that reads them otherwise
  // would not go on where this one was. Empty: unknown.
  std::string rows = {};
  // The values of TrainerSpec::rank_variables on the ranks from 1 on, by name;
  // rank 0's are the session's. Empty: there is one rank, or nothing differs.
  std::vector<TensorMap> other_ranks = {};

  friend bool operator==(const TrainingState&, const TrainingState&) = default;
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_TRAINING_STATE_H_
