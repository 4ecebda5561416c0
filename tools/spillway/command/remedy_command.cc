#include "tools/spillway/command/remedy_command.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "models/zoo.h"
#include "tools/spillway/model_graph.h"
#include "tools/spillway/output/progress.h"
#include "tools/spillway/output/result_json.h"
#include "training/loop/training_programs.h"
#include "tuner/what_if/remedies.h"

namespace spillway {
namespace {

absl::StatusOr<TrainingPrograms> GroupedPrograms(const GraphSourceFlags& flags,
                                                 const ModelGraphSpec& model,
                                                 int64_t rows) {
  SPILLWAY_ASSIGN_OR_RETURN(TrainingProgramsSpec spec,
                            ProgramsSpecOf(model, flags.optimizer));
  spec.forward = [&](GraphBuilder& g,
                     int64_t micro) -> absl::StatusOr<ForwardPhase> {
    ModelGraphSpec of_rows = model;
    of_rows.options.batch_size = micro;
    SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph built, BuildNetwork(g, of_rows));
    return ForwardPhaseOf(built);
  };
  SPILLWAY_ASSIGN_OR_RETURN(
      const MicroBatchPlan plan,
      MicroBatchPlan::Create({.algorithm = TrainAlgorithm::kLoopedMinibatch,
                              .rows = 2 * rows,
                              .batch_size = rows,
                              .parallel_batches = 2}));
  return MakeTrainingPrograms(plan, spec);
}

std::string Explain(const Remedies& remedies, int64_t batch_size) {
  const std::string budget = FormatBytes(remedies.budget_bytes);
  switch (remedies.found) {
    case RemedyCase::kNothing:
      return fmt::format("nothing is needed: the step of {} takes {} of {}\n",
                         batch_size, FormatBytes(remedies.step_bytes), budget);
    case RemedyCase::kPlacement:
      return fmt::format(
          "one op alone is too large: {} and the variables take {} of {}; {}\n",
          remedies.largest_node, FormatBytes(remedies.largest_node_bytes),
          budget,
          remedies.one_row_bytes > remedies.budget_bytes
              ? "running nodes on the host helps, and perhaps smaller batches"
              : "only smaller batches help, or running nodes on the host");
    case RemedyCase::kEviction:
      return fmt::format(
          "every op fits, but the step takes {} of {} even with one row: "
          "tensors have to leave the device or be computed again\n",
          FormatBytes(remedies.one_row_bytes), budget);
    case RemedyCase::kSmallBatch:
      return fmt::format(
          "the step of {} takes {} of {}, but smaller batches fit: any of "
          "these helps\n",
          batch_size, FormatBytes(remedies.step_bytes), budget);
  }
  return "";
}

std::string Format(const Remedies& remedies, int64_t batch_size) {
  std::string text = Explain(remedies, batch_size);
  text += fmt::format("largest op   {} at {}\n",
                      FormatBytes(remedies.largest_node_bytes),
                      remedies.largest_node);
  if (remedies.remedies.empty()) return text;
  text += fmt::format("\n{:<34}{:>6}{:>14}{:>13}{:>10}\n", "remedy", "fits",
                      "device", "update ms", "kept");
  for (const Remedy& remedy : remedies.remedies) {
    if (!remedy.fits.ok()) {
      text += fmt::format("{:<34}{:>6}{:>14}{:>13}{:>10}\n", remedy.name, "no",
                          "-", "-", "-");
      continue;
    }
    const std::string note =
        remedy.micro_batches > 1 && !remedy.is_plain ? ", tuned" : "";
    text += fmt::format(
        "{:<34}{:>6}{:>14}{:>13.3f}{:>8.1f} %\n", remedy.name + note, "yes",
        FormatBytes(remedy.device_bytes), Milliseconds(remedy.update_ns),
        100 * static_cast<double>(remedies.step_ns) /
            static_cast<double>(remedy.update_ns));
  }
  return text + fmt::format(
                    "\nkept: of the speed of a device with enough memory, "
                    "whose step takes {:.3f} ms\n",
                    Milliseconds(remedies.step_ns));
}

Json ToJson(const Remedies& remedies, int64_t batch_size) {
  Json list = Json::array();
  for (const Remedy& remedy : remedies.remedies) {
    Json& json = list.emplace_back(Json{{"name", remedy.name},
                                        {"fits", remedy.fits.ok()},
                                        {"micro_batches", remedy.micro_batches},
                                        {"rows", remedy.rows}});
    if (!remedy.fits.ok()) {
      json["reason"] = std::string(remedy.fits.message());
      continue;
    }
    json["device_bytes"] = remedy.device_bytes;
    json["update_ms"] = Milliseconds(remedy.update_ns);
  }
  return {{"case", RemedyCaseName(remedies.found)},
          {"batch_size", batch_size},
          {"device_memory", remedies.budget_bytes},
          {"largest_op",
           {{"node", remedies.largest_node},
            {"bytes", remedies.largest_node_bytes}}},
          {"step_bytes", remedies.step_bytes},
          {"step_ms", Milliseconds(remedies.step_ns)},
          {"one_row_bytes", remedies.one_row_bytes},
          {"remedies", std::move(list)}};
}

}  // namespace

absl::Status RunExplainRemedy(const GraphSourceFlags& source,
                              const StepOptions& step, Outputs& outputs) {
  if (!source.model.is_given() || source.forward_only) {
    return InvalidArgument(
        "--explain_remedy: needs the training step of a --model, which has "
        "other batch sizes");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const PassTarget target, PassTargetOf(step));
  SPILLWAY_ASSIGN_OR_RETURN(ModelGraphSpec model, SpecOf(source.model, target));
  model.options.channels = source.channels;
  model.options.num_classes = source.num_classes;
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t batch_size, FirstBatch(source.model));
  const bool feeds_rate = !IsConstant(source.policy);
  RemedySpec spec = {.batch_size = batch_size};
  spec.own_variables = {OptimizerScope(source.optimizer) + "/slots"};
  spec.step = [&](int64_t rows) -> absl::StatusOr<Program> {
    ModelGraphSpec of_rows = model;
    of_rows.options.batch_size = rows;
    SPILLWAY_ASSIGN_OR_RETURN(
        StepGraph built,
        BuildTrainingGraph(of_rows, source.optimizer, feeds_rate));
    return Program{.graph = std::move(built.graph),
                   .fetches = LossFetchesOf(built.model)};
  };
  spec.grouped = [&](int64_t rows) -> absl::StatusOr<std::vector<Program>> {
    SPILLWAY_ASSIGN_OR_RETURN(TrainingPrograms programs,
                              GroupedPrograms(source, model, rows));
    return std::move(programs.programs);
  };
  SPILLWAY_ASSIGN_OR_RETURN(const Remedies remedies,
                            ExplainRemedies(spec, step));
  ClearProgress();
  outputs.Print(Format(remedies, batch_size));
  outputs.WriteJson(ToJson(remedies, batch_size));
  return outputs.Finish();
}

}  // namespace spillway
