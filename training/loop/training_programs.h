// The programs of a training, for one session:
//
//   MicroBatchPlan plan = ...;   // looped_minibatch, 4 batches of 16 rows
//   SPILLWAY_ASSIGN_OR_RETURN(
//       TrainingPrograms programs,
//       MakeTrainingPrograms(plan, {.forward = BuildNet, .optimizer =
//       Adam()}));
//   options.own_variables = programs.own_variables;
//   SPILLWAY_ASSIGN_OR_RETURN(
//       auto session, CreateTunedSession(programs.programs, options));
//   SPILLWAY_RETURN_IF_ERROR(Train(*session, programs.SpecFor(plan, data)));
//
// An update of one micro-batch is one program: forward and backward phase, and
// the update of each variable as soon as its gradient exists. An update of
// several is a program that runs for each of them, and one for the update, over
// sums of gradients that both share (training/loop/gradient_sums.h). So a group
// of P micro-batches is one plan that runs P times, not one plan of P times the
// nodes: it needs no more memory (all but the sums is free between two of
// them), and planning and tuning take a P-th of the time. What it gives up is
// copies of one micro-batch that hide behind kernels of the next.
//
// With several ranks (MicroBatchSpec::world_size), gradients are added over all
// of them: behind the backward phase of the one program, or by the update
// program, so once for P micro-batches. With PartialUpdates, variables are
// averaged instead, after the update.
#ifndef SPILLWAY_TRAINING_LOOP_TRAINING_PROGRAMS_H_
#define SPILLWAY_TRAINING_LOOP_TRAINING_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/passes/pass.h"
#include "training/loop/micro_batches.h"
#include "training/optimizer.h"
#include "training/trainer.h"
#include "training/workers/average_in_turn.h"

namespace spillway {

// The values of a network's forward phase that a training needs.
struct ForwardPhase {
  Tensor images = {};  // fed, [rows, ...]
  Tensor labels = {};  // fed, [rows, ...]
  // The same, of data with more fields (TrainingProgram::more_fields).
  std::vector<Tensor> more_fields = {};
  Tensor loss = {};      // float32 scalar: the mean over the rows
  Tensor accuracy = {};  // float32 scalar; invalid: none
  // Others that each step of the program fetches.
  std::vector<Tensor> fetches = {};
  // Others that the passes must leave in the graph; invalid ones are ignored.
  std::vector<Tensor> kept = {};
};

// Each rank trains from its own gradients, and a part of the variables is
// averaged after each update (training/workers/average_in_turn.h).
struct PartialUpdates {
  bool averages_slots = false;
  int64_t full_every = 0;  // AveragingTurns::full_every
};

struct TrainingProgramsSpec {
  std::string name = "training";  // of the graphs
  // Of the plan, whose programs these are: workers that are devices of one rank
  // may have micro-batches of other sizes.
  int worker = 0;
  // Adds the forward phase for `rows` rows; the same variables for any number.
  // Called once for each size of micro-batch, the largest first.
  std::function<absl::StatusOr<ForwardPhase>(GraphBuilder& g, int64_t rows)>
      forward = {};
  Optimizer optimizer = Sgd();
  std::string scope = "optimizer";  // of backward phase, slots and update
  MinimizeOptions minimize = {};    // without learning_rate_feed
  bool feeds_learning_rate = false;
  // For TrainerSpec::check_finite: gradients are looked at, not only the loss.
  bool checks_gradients = false;
  // For TrainerSpec::follows_loss_scale, in place of minimize.loss_scale. Even
  // an update of one micro-batch then has an update program, which can be left
  // out.
  bool feeds_loss_scale = false;
  // Of several ranks: which gradients are all-reduced together, or variables
  // averaged together, and how gradients travel. At most one of the last three.
  BucketSpec buckets = {};
  WireFormat wire = {};
  std::optional<SparseGradients> sparse = {};
  std::optional<PartialUpdates> partial = {};
  // Changes each graph before it is optimised; null: not.
  std::function<absl::Status(Graph& graph)> edit = {};
  std::vector<Pass> passes = {};
  const OpRegistry* ops = &StandardOps();  // borrowed for the call
};

struct TrainingPrograms {
  // One for each size of micro-batch, the largest first, then the update.
  std::vector<Program> programs = {};
  TrainingProgram training = {};
  std::vector<TrainingProgram> other_sizes = {};
  std::optional<UpdateProgram> update = {};
  // Variables that only the update has: for SessionOptions and StepOptions.
  std::vector<std::string> own_variables = {};
  // TrainerSpec::statistics, and of several ranks the fields of these names.
  std::vector<std::string> statistics = {};
  std::vector<std::string> agreement = {};
  std::vector<std::string> rank_variables = {};
  AveragingTurns turns = {};

  // A trainer's arguments with these programs; `data` is borrowed.
  TrainerSpec SpecFor(const MicroBatchPlan& plan, const Dataset& data) const;
};

// Errors: INVALID_ARGUMENT for ways of exchange that exclude each other; those
// of `forward`, Minimize, GraphBuilder::Build, `edit` and the passes.
absl::StatusOr<TrainingPrograms> MakeTrainingPrograms(
    const MicroBatchPlan& plan, const TrainingProgramsSpec& spec);

// The same with a forward phase that `g` has already, for a plan whose
// micro-batches all have its rows. Of the spec, name, forward and ops do not
// count.
absl::StatusOr<TrainingPrograms> MakeTrainingPrograms(
    const MicroBatchPlan& plan, const TrainingProgramsSpec& spec,
    GraphBuilder&& g, const ForwardPhase& phase);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_TRAINING_PROGRAMS_H_
