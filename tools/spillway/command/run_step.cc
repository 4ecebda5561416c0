#include "tools/spillway/command/run_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "onnx_model/import.h"
#include "onnx_model/tensors.h"
#include "ops/all_ops.h"
#include "tools/spillway/flags/graph_source.h"

namespace spillway {
namespace {

absl::Status ReadFeeds(const std::string& path, RunStep& step) {
  if (path.empty()) return absl::OkStatus();
  const Graph& graph = step.graph;
  SPILLWAY_ASSIGN_OR_RETURN(step.tensors, ReadSafetensors(path));
  for (const auto& [name, tensor] : step.tensors) {
    SPILLWAY_ASSIGN_OR_RETURN(const ValueId value, graph.FindValue(name));
    const Node& node = graph.producer(value);
    if (graph.type(value) != tensor.type) {
      return InvalidArgument(
          fmt::format("{} is {} in the graph but {} in the file", name,
                      graph.type(value).ToString(), tensor.type.ToString()));
    }
    if (node.op == kPlaceholder) {
      step.feeds[value] =
          TensorView{.type = tensor.type, .data = tensor.bytes.data()};
    } else if (node.op == kVariable) {
      step.variables[node.name] = tensor;
    } else {
      return InvalidArgument(fmt::format(
          "{} is the output of a {}; only Placeholders and Variables are fed",
          name, node.op));
    }
  }
  return absl::OkStatus();
}

// The tensors of --feeds: inputs, and what replaces initializers.
struct OnnxFeeds {
  TensorMap inputs = {};
  TensorMap initializers = {};
};

absl::StatusOr<OnnxFeeds> ReadOnnxFeeds(const std::string& path,
                                        const OnnxModel& model) {
  OnnxFeeds feeds;
  if (path.empty()) return feeds;
  SPILLWAY_ASSIGN_OR_RETURN(TensorMap file, ReadSafetensors(path));
  const std::vector<std::string> inputs = model.input_names();
  const std::vector<std::string> initializers = model.initializer_names();
  for (auto& [name, tensor] : file) {
    if (std::ranges::find(inputs, name) != inputs.end()) {
      feeds.inputs.emplace(name, std::move(tensor));
    } else if (std::ranges::find(initializers, name) != initializers.end()) {
      feeds.initializers.emplace(name, std::move(tensor));
    } else {
      return InvalidArgument(fmt::format(
          "{} is neither an input nor an initializer of the model", name));
    }
  }
  return feeds;
}

// The inputs that are fed. `step.tensors` owns their bytes.
absl::Status FeedInputs(const OnnxNetwork& network, const TensorMap& inputs,
                        RunStep& step) {
  for (const OnnxValue& input : network.inputs) {
    const auto fed = inputs.find(input.name);
    if (fed == inputs.end()) {
      return InvalidArgument(
          fmt::format("input {} is missing in the file", input.name));
    }
    SPILLWAY_ASSIGN_OR_RETURN(HostTensor tensor, ToFeed(fed->second, input));
    const HostTensor& kept =
        step.tensors.emplace(input.name, std::move(tensor)).first->second;
    step.feeds[input.tensor] =
        TensorView{.type = kept.type, .data = kept.bytes.data()};
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunStep> LoadGraphStep(const RunFlags& flags) {
  RunStep step;
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, LoadGraphFile(flags.graph));
  SPILLWAY_RETURN_IF_ERROR(Annotate(ReadFeeds(flags.feed, step), "--feed"));
  step.names = flags.fetch;
  SPILLWAY_ASSIGN_OR_RETURN(step.fetches, FindFetches(flags.fetch, step.graph));
  return step;
}

absl::StatusOr<OnnxStep> LoadOnnxStep(const RunFlags& flags) {
  absl::StatusOr<OnnxModel> model = OnnxModel::Read(flags.onnx);
  if (!model.ok()) return Annotate(model.status(), "--onnx");
  absl::StatusOr<OnnxFeeds> feeds = ReadOnnxFeeds(flags.feeds, *model);
  if (!feeds.ok()) return Annotate(feeds.status(), "--feeds");
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(model->ReplaceInitializers(feeds->initializers), "--feeds"));
  OnnxImportOptions options = {.batch_size = flags.batch_size,
                               .dims = flags.dims};
  for (const auto& [name, tensor] : feeds->inputs) {
    options.shapes[name] = tensor.type.shape;
  }
  GraphBuilder g(StandardOps(), flags.onnx);
  absl::StatusOr<OnnxNetwork> network = model->AddTo(g, options);
  if (!network.ok()) return Annotate(network.status(), "--onnx");
  OnnxStep loaded;
  RunStep& step = loaded.step;
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(FeedInputs(*network, feeds->inputs, step), "--feeds"));
  for (const OnnxValue& output : network->outputs) {
    step.names.push_back(output.name);
    step.fetches.push_back(output.tensor);
  }
  SPILLWAY_ASSIGN_OR_RETURN(step.variables,
                            model->InitialValues(network->variables));
  loaded.finish = [outputs = network->outputs](size_t fetch,
                                               HostTensor tensor) {
    return FromFetch(std::move(tensor), outputs[fetch]);
  };
  return loaded;
}

}  // namespace spillway
