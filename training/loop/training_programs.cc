#include "training/loop/training_programs.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/format/json_format.h"
#include "graph/well_known_ops.h"
#include "training/loop/gradient_sums.h"
#include "training/workers/reduce_gradients.h"

namespace spillway {
namespace {

class ProgramMaker {
 public:
  ProgramMaker(const MicroBatchPlan& plan, const TrainingProgramsSpec& spec)
      : plan_(plan), spec_(spec) {}

  absl::StatusOr<TrainingPrograms> Make() {
    SPILLWAY_RETURN_IF_ERROR(CheckExchange());
    for (const int64_t rows : plan_.Sizes(spec_.worker)) {
      GraphBuilder g(*spec_.ops,
                     result_.programs.empty()
                         ? spec_.name
                         : fmt::format("{} of {}", spec_.name, rows));
      SPILLWAY_ASSIGN_OR_RETURN(const ForwardPhase phase,
                                spec_.forward(g, rows));
      SPILLWAY_RETURN_IF_ERROR(AddMicroBatch(rows, std::move(g), phase));
    }
    return Complete();
  }

  absl::StatusOr<TrainingPrograms> MakeFrom(GraphBuilder&& g,
                                            const ForwardPhase& phase) {
    SPILLWAY_RETURN_IF_ERROR(CheckExchange());
    SPILLWAY_RETURN_IF_ERROR(
        AddMicroBatch(plan_.micro_rows(), std::move(g), phase));
    return Complete();
  }

 private:
  bool has_groups() const {
    return plan_.per_rank() > 1 || spec_.feeds_loss_scale;
  }

  bool has_ranks() const { return plan_.workers() > 1; }

  absl::StatusOr<TrainingPrograms> Complete() {
    if (has_groups()) SPILLWAY_RETURN_IF_ERROR(AddUpdate());
    if (has_ranks()) DescribeExchange();
    return std::move(result_);
  }

  absl::Status CheckExchange() const {
    const bool is_half = spec_.wire.dtype != DType::kFloat32 ||
                         spec_.wire.scale != 1 || spec_.wire.clip != 0;
    if (is_half + spec_.sparse.has_value() + spec_.partial.has_value() <= 1) {
      return absl::OkStatus();
    }
    return InvalidArgument(
        "ranks exchange gradients in a wire format, or sparse ones, or average "
        "variables: one of these");
  }

  // The nodes of all programs, one each: ranks that differ in one train another
  // thing.
  void DescribeExchange() {
    const Program& updates =
        result_.update ? result_.programs.back() : result_.programs.front();
    result_.rank_variables =
        VariablesOfRanks(updates.graph, *spec_.ops, spec_.scope);
    result_.turns.parts = CountParts(updates.graph);
    if (spec_.partial) result_.turns.full_every = spec_.partial->full_every;
    for (const Program& program : result_.programs) {
      const std::vector<std::string> lines =
          absl::StrSplit(FormatGraph(program.graph), '\n');
      result_.agreement.insert(result_.agreement.end(), lines.begin(),
                               lines.end());
    }
  }

  static Tensor RateFeed(GraphBuilder& g) {
    return g.Placeholder("learning_rate", DType::kFloat32, {});
  }

  // How the program that updates the variables exchanges them, or gradients,
  // among ranks. `weight`: of a rank's gradients; invalid: they have it
  // already. The returned turn is fed; invalid: there is none.
  Tensor AddExchange(GraphBuilder& g, Tensor weight,
                     MinimizeOptions& options) const {
    const int ranks = plan_.workers();
    if (spec_.partial) {
      const Tensor turn = g.Placeholder("turn", DType::kInt32, {});
      options.averaging = {.turn = turn,
                           .ranks = ranks,
                           .buckets = spec_.buckets,
                           .averages_slots = spec_.partial->averages_slots};
      return turn;
    }
    options.reduction = {.weight = weight,
                         .buckets = spec_.buckets,
                         .wire = spec_.wire,
                         .sparse = spec_.sparse};
    if (spec_.sparse && !weight.is_valid()) {
      options.reduction->sparse->min_magnitude /= ranks;  // as sums are
    }
    return {};
  }

  // The backward phase, and the update or the sums.
  void AddBackwardPhase(const ForwardPhase& phase, GraphBuilder& g,
                        TrainingProgram& program) {
    MinimizeOptions options = spec_.minimize;
    options.sums_squares = spec_.checks_gradients || spec_.feeds_loss_scale;
    const NameScope scope = g.Scope(spec_.scope);
    if (!has_groups()) {
      if (spec_.feeds_learning_rate) options.learning_rate_feed = RateFeed(g);
      program.learning_rate = options.learning_rate_feed.id();
      if (has_ranks()) {
        const Tensor weight =
            g.Placeholder("gradient_weight", DType::kFloat32, {});
        program.rank_weight = weight.id();
        program.turn = AddExchange(g, weight, options).id();
      }
      program.square_sum =
          Minimize(scope, phase.loss, spec_.optimizer, options).id();
      return;
    }
    const Tensor weights =
        g.Placeholder("gradient_weights", DType::kFloat32, {2});
    program.weights = weights.id();
    Tensor fed_scale;
    if (spec_.feeds_loss_scale) {
      fed_scale = g.Placeholder("loss_scale", DType::kFloat32, {});
      program.loss_scale = fed_scale.id();
    }
    sums_ = SumGradients(scope, phase.loss, weights, options, fed_scale);
    program.square_sum = sums_.square_sum.id();
  }

  absl::Status AddMicroBatch(int64_t rows, GraphBuilder&& g,
                             const ForwardPhase& phase) {
    TrainingProgram program = {
        .program = static_cast<int>(result_.programs.size()),
        .batch_size = rows,
        .images = phase.images.id(),
        .labels = phase.labels.id(),
        .loss = phase.loss.id(),
        .accuracy = phase.accuracy.id()};
    for (const Tensor field : phase.more_fields) {
      program.more_fields.push_back(field.id());
    }
    for (const Tensor fetch : phase.fetches) {
      program.fetches.push_back(fetch.id());
    }
    AddBackwardPhase(phase, g, program);
    std::vector<ValueId*> ids = {&program.images,        &program.labels,
                                 &program.learning_rate, &program.weights,
                                 &program.loss,          &program.accuracy,
                                 &program.loss_scale,    &program.square_sum,
                                 &program.rank_weight,   &program.turn};
    for (ValueId& field : program.more_fields) ids.push_back(&field);
    for (ValueId& fetch : program.fetches) ids.push_back(&fetch);
    SPILLWAY_ASSIGN_OR_RETURN(Graph graph,
                              Finish(std::move(g), phase.kept, ids));
    std::vector<ValueId> fetches = {program.loss};
    for (const ValueId id : {program.accuracy, program.square_sum}) {
      if (id.is_valid()) fetches.push_back(id);
    }
    fetches.insert(fetches.end(), program.fetches.begin(),
                   program.fetches.end());
    if (result_.programs.empty()) {
      result_.statistics = StatisticsOf(graph, *spec_.ops, spec_.scope);
      result_.training = program;
    } else {
      result_.other_sizes.push_back(program);
    }
    result_.programs.push_back(
        {.graph = std::move(graph), .fetches = std::move(fetches)});
    return absl::OkStatus();
  }

  absl::Status AddUpdate() {
    GraphBuilder g(*spec_.ops, spec_.name + " update");
    UpdateProgram update = {.program =
                                static_cast<int>(result_.programs.size())};
    MinimizeOptions options = spec_.minimize;
    if (spec_.feeds_loss_scale) options.loss_scale = 1;
    if (spec_.feeds_learning_rate) options.learning_rate_feed = RateFeed(g);
    update.learning_rate = options.learning_rate_feed.id();
    if (has_ranks()) update.turn = AddExchange(g, {}, options).id();
    const NameScope scope = g.Scope(spec_.scope);
    MinimizeSums(scope, sums_, spec_.optimizer, options);
    for (const NameScope& own :
         {scope.Scope("slots"), scope.Scope("all_reduce").Scope("residuals")}) {
      result_.own_variables.emplace_back(own.name());
    }
    const std::array<ValueId*, 2> ids = {&update.learning_rate, &update.turn};
    SPILLWAY_ASSIGN_OR_RETURN(Graph graph, Finish(std::move(g), {}, ids));
    result_.programs.push_back({.graph = std::move(graph)});
    result_.update = update;
    return absl::OkStatus();
  }

  // The finished graph, after the passes; `ids` become its values.
  absl::StatusOr<Graph> Finish(GraphBuilder&& g,
                               const std::vector<Tensor>& kept,
                               std::span<ValueId* const> ids) const {
    SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
    if (spec_.edit) SPILLWAY_RETURN_IF_ERROR(spec_.edit(graph));
    if (spec_.passes.empty()) return graph;
    std::vector<ValueId> keep;
    for (const Tensor tensor : kept) {
      if (tensor.is_valid()) keep.push_back(tensor.id());
    }
    for (const ValueId* id : ids) {
      if (id->is_valid()) keep.push_back(*id);
    }
    SPILLWAY_ASSIGN_OR_RETURN(OptimizedGraph optimized,
                              RunPasses(graph, *spec_.ops, spec_.passes, keep));
    for (ValueId* id : ids) {
      if (id->is_valid()) *id = optimized.at(*id);
    }
    return std::move(optimized.graph);
  }

  const MicroBatchPlan& plan_;
  const TrainingProgramsSpec& spec_;
  GradientSums sums_;
  TrainingPrograms result_;
};

}  // namespace

TrainerSpec TrainingPrograms::SpecFor(const MicroBatchPlan& plan,
                                      const Dataset& data) const {
  TrainerSpec spec;
  spec.training = training;
  spec.other_sizes = other_sizes;
  spec.update = update;
  spec.statistics = statistics;
  spec.agreement = agreement;
  spec.rank_variables = rank_variables;
  spec.turns = turns;
  spec.training_data = &data;
  spec.plan = plan;
  return spec;
}

absl::StatusOr<TrainingPrograms> MakeTrainingPrograms(
    const MicroBatchPlan& plan, const TrainingProgramsSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(TrainingPrograms programs,
                            ProgramMaker(plan, spec).Make());
  if (plan.Sizes(spec.worker) == plan.Sizes(0)) return programs;
  // The workers agree on the graphs of worker 0.
  TrainingProgramsSpec first = spec;
  first.worker = 0;
  SPILLWAY_ASSIGN_OR_RETURN(TrainingPrograms of_first,
                            ProgramMaker(plan, first).Make());
  programs.agreement = std::move(of_first.agreement);
  return programs;
}

absl::StatusOr<TrainingPrograms> MakeTrainingPrograms(
    const MicroBatchPlan& plan, const TrainingProgramsSpec& spec,
    GraphBuilder&& g, const ForwardPhase& phase) {
  TrainingProgramsSpec of_builder = spec;
  of_builder.name = g.graph().name();
  of_builder.ops = &g.registry();
  return ProgramMaker(plan, of_builder).MakeFrom(std::move(g), phase);
}

}  // namespace spillway
