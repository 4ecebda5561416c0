#include "tools/spillway/command/import_command.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/builder.h"
#include "graph/format/json_format.h"
#include "graph/passes/standard_passes.h"
#include "ops/all_ops.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/model_graph.h"
#include "tools/spillway/output/onnx_json.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

struct ImportedGraph {
  OnnxNetwork network = {};
  Graph graph = {};
};

// Of a node of which one output alone is not supported, what was imported is
// read by no one.
absl::Status RemoveDead(ImportedGraph& imported) {
  std::vector<ValueId> keep;
  for (const OnnxValue& value : imported.network.inputs) {
    keep.push_back(value.tensor.id());
  }
  for (const OnnxValue& value : imported.network.outputs) {
    keep.push_back(value.tensor.id());
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::vector<Pass> passes,
      SelectPasses("remove_dead_nodes", PassTarget::kCpu));
  SPILLWAY_ASSIGN_OR_RETURN(
      OptimizedGraph result,
      RunPasses(imported.graph, StandardOps(), passes, keep));
  imported.graph = std::move(result.graph);
  return absl::OkStatus();
}

// The model as it is: inference, as each node says.
absl::StatusOr<ImportedGraph> BuildInference(const ModelGraphSpec& spec) {
  GraphBuilder g(StandardOps(), spec.model);
  ImportedGraph imported;
  SPILLWAY_ASSIGN_OR_RETURN(
      imported.network,
      spec.onnx->AddTo(g, {.batch_size = spec.options.batch_size,
                           .dims = spec.onnx_flags.dims,
                           .dtype = spec.options.dtype,
                           .plan_only = spec.onnx_flags.plan_only}));
  SPILLWAY_ASSIGN_OR_RETURN(imported.graph, std::move(g).Build());
  if (!imported.network.unsupported.empty()) {
    SPILLWAY_RETURN_IF_ERROR(RemoveDead(imported));
  }
  return imported;
}

absl::StatusOr<ImportedGraph> BuildTraining(const ModelGraphSpec& spec,
                                            const ImportFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(StepGraph step,
                            BuildTrainingGraph(spec, flags.source.optimizer));
  LogNotes(step.onnx.notes);
  return ImportedGraph{.network = std::move(step.onnx),
                       .graph = std::move(step.graph)};
}

absl::StatusOr<ImportedGraph> Build(const ModelGraphSpec& spec,
                                    const ImportFlags& flags) {
  return flags.has_loss ? BuildTraining(spec, flags) : BuildInference(spec);
}

}  // namespace

void AddImportFlags(FlagSet& set, ImportFlags& flags) {
  set.BeginGroup("Model");
  ModelFlags& model = flags.source.model;
  AddOnnxFlags(set, model.onnx)->required();
  AddPlanOnlyFlag(set, model.onnx);
  AddBatchAndPrecision(set, model);
  AddOptimizerFlags(set, flags.source.optimizer);
  DefaultDecayOf(set, model, flags.source.optimizer);
  set.AtEnd([&set, &flags] { flags.has_loss = set.IsGiven("--loss"); });
  set.BeginGroup("Files");
  set.File("--out", flags.out,
           "write the graph to this file: inference, or with --loss a training "
           "step");
  set.Exclude(set.File("--weights", flags.weights,
                       "write the variables, by node name, to this safetensors "
                       "file: run --feed takes it"),
              "--plan_only");
  AddResultFlags(set, flags.result);
}

absl::Status RunImport(const ImportFlags& flags) {
  Outputs outputs(flags.result,
                  {{"--out", flags.out}, {"--weights", flags.weights}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  absl::StatusOr<ModelGraphSpec> spec =
      SpecOf(flags.source.model, PassTarget::kCpu);
  if (!spec.ok()) return Annotate(spec.status(), "--onnx");
  absl::StatusOr<ImportedGraph> imported = Build(*spec, flags);
  if (!imported.ok()) return Annotate(imported.status(), "--onnx");
  const OnnxNetwork& network = imported->network;
  outputs.Print(FormatOnnx(network, imported->graph));
  outputs.WriteJson(OnnxJson(network, CountTransposes(imported->graph)));
  outputs.Write("--out", [&] { return FormatGraph(imported->graph); });
  if (!flags.weights.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(const TensorMap values,
                              spec->onnx->InitialValues(network.variables));
    outputs.WriteWith("--weights", [&](const std::string& path) {
      return WriteSafetensors(path, values);
    });
  }
  return outputs.Finish();
}

}  // namespace spillway
