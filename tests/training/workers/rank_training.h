// Trainings of several ranks, as threads.
#ifndef SPILLWAY_TESTS_TRAINING_WORKERS_RANK_TRAINING_H_
#define SPILLWAY_TESTS_TRAINING_WORKERS_RANK_TRAINING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "tests/comm/run_ranks.h"
#include "tests/training/lenet_run.h"
#include "tests/training/loop/perceptron.h"
#include "training/loop/training_programs.h"
#include "training/safetensors.h"
#include "training/trainer.h"
#include "tuner/tuned_session.h"

namespace spillway::testing {

inline absl::StatusOr<ForwardPhase> BuildRankPerceptron(GraphBuilder& g,
                                                        int64_t rows) {
  return AddPerceptron(g, rows, 24);
}

struct RankBudget {
  LmsMode lms = LmsMode::kOff;
  std::optional<int64_t> device_memory = {};
};

struct RanksCase {
  MicroBatchSpec rows = {};
  decltype(TrainingProgramsSpec::forward) forward = BuildRankPerceptron;
  Optimizer optimizer = Momentum{.learning_rate = 0.02};
  MinimizeOptions minimize = {};
  BucketSpec buckets = {.bytes = 4096, .first_bytes = 512};
  WireFormat wire = {};
  std::optional<SparseGradients> sparse = {};
  std::optional<PartialUpdates> partial = {};
  int64_t updates = 5;
  // By rank; others: without swaps and budget.
  std::vector<RankBudget> budgets = {};
  CommOptions comm = {};
  std::function<void(int rank, TrainerSpec&)> change = {};
  // With the session, just before the training.
  std::function<absl::Status(Communicator&, Session&, TrainerSpec&)> prepare =
      {};
};

struct RankResult {
  std::vector<double> losses = {};
  TensorMap variables = {};
  std::string checksum = {};  // of them
  MemoryUse memory = {};
};

inline absl::StatusOr<RankResult> TrainRank(const RanksCase& test,
                                            Communicator& communicator) {
  const auto rank = static_cast<size_t>(communicator.rank());
  SPILLWAY_ASSIGN_OR_RETURN(const MicroBatchPlan plan,
                            MicroBatchPlan::Create(test.rows));
  SPILLWAY_ASSIGN_OR_RETURN(
      const TrainingPrograms programs,
      MakeTrainingPrograms(plan, {.worker = communicator.rank(),
                                  .forward = test.forward,
                                  .optimizer = test.optimizer,
                                  .minimize = test.minimize,
                                  .buckets = test.buckets,
                                  .wire = test.wire,
                                  .sparse = test.sparse,
                                  .partial = test.partial}));
  StepOptions options = {.device = "cpu",
                         .threads = 1,
                         .communicator = &communicator,
                         .lms = {.mode = LmsMode::kOff},
                         .own_variables = programs.own_variables};
  if (rank < test.budgets.size()) {
    options.device_memory = test.budgets[rank].device_memory;
    options.lms.mode = test.budgets[rank].lms;
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            CreateTunedSession(programs.programs, options));
  const Quarters data(test.rows.rows, 1);
  TrainerSpec spec = programs.SpecFor(plan, data);
  spec.communicator = &communicator;
  spec.length = {.updates = test.updates};
  spec.shuffle_seed = 3;
  RankResult result;
  spec.on_step = [&](const StepProgress& progress) {
    result.losses.push_back(progress.loss);
  };
  if (test.change) test.change(communicator.rank(), spec);
  if (test.prepare) {
    SPILLWAY_RETURN_IF_ERROR(test.prepare(communicator, *session, spec));
  }
  SPILLWAY_RETURN_IF_ERROR(Train(*session, spec).status());
  SPILLWAY_ASSIGN_OR_RETURN(result.variables, session->ReadVariables());
  result.checksum = Checksum(result.variables);
  result.memory = session->memory();
  return result;
}

// By worker, of so many ranks with the devices that test.rows has.
inline std::vector<absl::StatusOr<RankResult>> TrainRanks(const RanksCase& test,
                                                          int ranks) {
  RanksCase with_ranks = test;
  with_ranks.rows.world_size = ranks;
  const auto devices = std::max(1, static_cast<int>(test.rows.loads.size()));
  std::vector<absl::StatusOr<RankResult>> results(
      static_cast<size_t>(ranks * devices), absl::UnknownError("has not run"));
  RunRanks(ranks * devices, test.comm, [&](Communicator& communicator) {
    const auto worker = static_cast<size_t>(communicator.rank());
    results[worker] = TrainRank(with_ranks, communicator);
    return results[worker].status();
  });
  return results;
}

// One rank that takes `group` micro-batches an update.
inline absl::StatusOr<RankResult> TrainAlone(RanksCase test, int64_t group) {
  test.rows.algorithm = TrainAlgorithm::kLoopedMinibatch;
  test.rows.parallel_batches = group;
  const auto self = NewSelfCommunicator();
  return TrainRank(test, *self);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TRAINING_WORKERS_RANK_TRAINING_H_
