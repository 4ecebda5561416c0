#include "tests/end_to_end/train_model.h"

#include <map>
#include <memory>
#include <utility>

#include "base/random.h"
#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"

namespace spillway::testing {
namespace {

// A feed for each Placeholder: labels count up, anything else is random. The
// same for every run; another one each step.
HostTensor MakeFeed(const TensorType& type, int64_t num_classes, int step) {
  if (type.dtype == DType::kInt32) {
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < type.num_elements(); ++i) {
      labels.push_back(static_cast<int32_t>((i + step) % num_classes));
    }
    return MakeHostTensor(type, labels);
  }
  std::vector<float> values;
  const uint64_t key = MixKeys(17, static_cast<uint64_t>(step));
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    const auto block = Philox4x32(key, static_cast<uint64_t>(i / 4));
    values.push_back(UniformFloat(block[static_cast<size_t>(i % 4)]));
  }
  return MakeHostTensor(type, values);
}

absl::Status RunSteps(const TrainModelSpec& spec, const Graph& graph,
                      ValueId loss, Session& session, TrainedModel& result) {
  for (int step = 0; step < spec.steps; ++step) {
    std::map<ValueId, HostTensor> tensors;
    Feeds feeds;
    for (const Node& node : graph.nodes()) {
      if (node.op != kPlaceholder) continue;
      const ValueId id = node.outputs[0];
      tensors[id] = MakeFeed(graph.type(id), spec.num_classes, step);
      feeds[id] = {tensors[id].type, tensors[id].bytes.data()};
    }
    ASSIGN_OR_RETURN(const StepResult fetched, session.Step(feeds));
    result.losses.push_back(fetched.scalar(loss));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainedModel> TrainModel(const TrainModelSpec& spec) {
  GraphBuilder g(StandardOps());
  ASSIGN_OR_RETURN(const ModelGraph model,
                   BuildModel(g, spec.model,
                              {.batch_size = spec.batch_size,
                               .image_size = spec.image_size,
                               .num_classes = spec.num_classes,
                               .dtype = spec.dtype}));
  Minimize(g.Scope("optimizer"), model.loss, spec.optimizer);
  ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  ASSIGN_OR_RETURN(const LmsReport report, ApplyLms(spec.lms, graph));
  TrainedModel result;
  result.swap_outs_in_graph = report.swap_outs;
  ASSIGN_OR_RETURN(
      auto device,
      NewDevice(spec.device, {.threads = spec.threads,
                              .link_gigabytes_per_second = spec.link_gbps}));
  std::vector<Program> programs;
  programs.push_back({.graph = graph, .fetches = {model.loss.id()}});
  ASSIGN_OR_RETURN(auto session,
                   Session::Create(std::move(programs), std::move(device),
                                   {.ops = &StandardOps(),
                                    .kernels = &StandardKernels(),
                                    .device_memory = spec.device_memory,
                                    .threads = spec.threads,
                                    .seed = 5}));
  RETURN_IF_ERROR(RunSteps(spec, graph, model.loss.id(), *session, result));
  ASSIGN_OR_RETURN(const auto variables, session->ReadVariables());
  result.checksum = Checksum(variables);
  result.memory = session->memory();
  result.copies = session->copies(0);
  return result;
}

}  // namespace spillway::testing
