#include "tools/spillway/flags/graph_source.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/format/json_format.h"
#include "graph/well_known_ops.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tools/spillway/model_graph.h"

namespace spillway {
namespace {

constexpr int64_t kFirstOnnxBatch = 32;

RankExchange ExchangeOf(const GraphSourceFlags& source) {
  return {.ranks = source.ranks,
          .buckets = source.exchange.buckets,
          .wire = WireOf(source.exchange),
          .sparse = SparseOf(source.exchange),
          .partial = PartialOf(source.exchange)};
}

absl::StatusOr<SourceGraph> LoadModel(const GraphSourceFlags& source,
                                      PassTarget target) {
  SPILLWAY_ASSIGN_OR_RETURN(ModelGraphSpec spec, SpecOf(source.model, target));
  spec.options.channels = source.channels;
  spec.options.num_classes = source.num_classes;
  SPILLWAY_ASSIGN_OR_RETURN(
      StepGraph step,
      source.forward_only
          ? BuildEvaluationGraph(spec)
          : BuildTrainingGraph(spec, source.optimizer,
                               !IsConstant(source.policy), ExchangeOf(source)));
  return SourceGraph{.graph = std::move(step.graph),
                     .fetches = LossFetchesOf(step.model),
                     .batch_size = step.model.options.batch_size,
                     .model = step.model,
                     .notes = std::move(step.onnx.notes)};
}

absl::StatusOr<SourceGraph> LoadUnplaced(const GraphSourceFlags& source,
                                         const StepOptions& step) {
  if (source.model.is_given()) {
    SPILLWAY_ASSIGN_OR_RETURN(const PassTarget target, PassTargetOf(step));
    absl::StatusOr<SourceGraph> loaded = LoadModel(source, target);
    if (!loaded.ok()) {
      return Annotate(loaded.status(), SourceFlagOf(source.model));
    }
    return loaded;
  }
  if (source.graph.empty()) {
    return InvalidArgument("one of --model, --onnx and --graph is needed");
  }
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, LoadGraphFile(source.graph));
  if (source.ranks > 1 &&
      std::ranges::none_of(graph.nodes(), [](const Node& node) {
        return IsCollective(node.op);
      })) {
    return InvalidArgument(
        "--workers: the ranks of --graph exchange nothing: it has no node such "
        "as AllReduce");
  }
  return SourceGraph{.graph = std::move(graph)};
}

absl::StatusOr<SourceGraph> Load(const GraphSourceFlags& source,
                                 const StepOptions& step) {
  SPILLWAY_ASSIGN_OR_RETURN(SourceGraph loaded, LoadUnplaced(source, step));
  Program program = ProgramOf(loaded);
  SPILLWAY_ASSIGN_OR_RETURN(loaded.placement,
                            PlaceProgram(source.place, step, program));
  loaded.graph = std::move(program.graph);
  return loaded;
}

}  // namespace

void AddGraphSourceFlags(FlagSet& flags, GraphSourceFlags& source) {
  flags.BeginGroup("Graph");
  AddModelFlags(flags, source.model);
  NeedZooModel(
      flags, source.model,
      {flags.Int(
           "--channels", source.channels,
           {.help = "of the images; 0: the model's default", .max = 1024}),
       flags.Int("--num_classes", source.num_classes,
                 {.help = "0: the model's default", .max = 10'000'000})});
  NeedModel(flags, source.model,
            {flags.Bool("--forward_only", source.forward_only,
                        "an evaluation step instead of a training step")});
  flags.File("--graph", source.graph, "graph file, instead of --model");
  flags.AtEnd([&source] {
    if (source.graph.empty() || !source.model.is_given()) return;
    Refuse(fmt::format("{} excludes --graph; give one of the two",
                       SourceFlagOf(source.model)));
  });
  NeedModel(flags, source.model, AddOptimizerFlags(flags, source.optimizer));
  DefaultDecayOf(flags, source.model, source.optimizer);
  NeedModel(flags, source.model, AddPolicyFlags(flags, source.policy));
}

Program ProgramOf(const SourceGraph& source) {
  return {.graph = source.graph, .fetches = source.fetches};
}

absl::StatusOr<SourceGraph> LoadGraph(const GraphSourceFlags& source,
                                      const StepOptions& step) {
  absl::StatusOr<SourceGraph> loaded = Load(source, step);
  if (!loaded.ok()) return loaded;
  LogNotes(loaded->notes);
  return loaded;
}

absl::StatusOr<int64_t> FirstBatch(const ModelFlags& model) {
  if (!model.is_given()) {
    return InvalidArgument(
        "--find_max_batch: needs --model or --onnx; a graph file has its batch "
        "size");
  }
  if (model.batch_size != 0) return model.batch_size;
  if (model.onnx.is_given()) return kFirstOnnxBatch;
  SPILLWAY_ASSIGN_OR_RETURN(const ModelSpec spec, FindModel(model.model));
  return spec.default_batch_size;
}

absl::StatusOr<SourceGraph> LoadBatch(const GraphSourceFlags& source,
                                      const StepOptions& step,
                                      int64_t batch_size) {
  GraphSourceFlags with_batch = source;
  with_batch.model.batch_size = batch_size;
  return Load(with_batch, step);
}

absl::StatusOr<MaxBatch> FindMaxBatchOf(const GraphSourceFlags& source,
                                        const StepOptions& step) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t start, FirstBatch(source.model));
  return FindMaxBatch(
      [&](int64_t batch_size) -> absl::StatusOr<Program> {
        SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph loaded,
                                  LoadBatch(source, step, batch_size));
        return ProgramOf(loaded);
      },
      step, {.start = start});
}

ReportHead HeadOf(const GraphSourceFlags& flags, const SourceGraph& source) {
  ReportHead head = {.batch_size = source.batch_size};
  if (source.batch_size > 0) {
    head.facts.push_back({"Precision", flags.model.precision});
  }
  return head;
}

absl::StatusOr<Graph> LoadGraphFile(const std::string& path) {
  absl::StatusOr<Graph> graph = ReadGraphFile(path, StandardOps());
  if (!graph.ok()) return Annotate(graph.status(), "--graph");
  return graph;
}

absl::StatusOr<std::vector<ValueId>> FindFetches(
    const std::vector<std::string>& names, const Graph& graph) {
  std::vector<ValueId> fetches;
  for (const std::string& name : names) {
    const absl::StatusOr<ValueId> value = graph.FindValue(name);
    if (!value.ok()) return Annotate(value.status(), "--fetch");
    fetches.push_back(*value);
  }
  return fetches;
}

}  // namespace spillway
