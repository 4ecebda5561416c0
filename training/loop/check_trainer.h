// What is checked before a training begins.
#ifndef SPILLWAY_TRAINING_LOOP_CHECK_TRAINER_H_
#define SPILLWAY_TRAINING_LOOP_CHECK_TRAINER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "training/loop/micro_batches.h"
#include "training/trainer.h"

namespace spillway {

struct CheckedTraining {
  MicroBatchPlan plan;
  int64_t num_updates = 0;  // of the whole training
};

// The errors of Train that show before its first step.
absl::StatusOr<CheckedTraining> CheckTrainer(const Session& session,
                                             const TrainerSpec& spec);

// Where `size` rows are trained; null: nowhere.
const TrainingProgram* ProgramFor(const TrainerSpec& spec, int64_t size);

// Of the order of the rows; nothing: that of the data.
std::optional<uint64_t> ShuffleSeed(const TrainerSpec& spec);

// What is fed of a sample's fields, in their order: images, labels and others,
// those that are valid.
std::vector<ValueId> FieldsOf(const TrainingProgram& program);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_CHECK_TRAINER_H_
