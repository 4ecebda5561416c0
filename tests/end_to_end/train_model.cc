#include "tests/end_to_end/train_model.h"

#include <memory>
#include <utility>

#include "base/random.h"
#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "lms/lms.h"
#include "models/zoo.h"
#include "ops/all_ops.h"

namespace spillway::testing {
namespace {

struct Batch {
  std::vector<float> images;
  std::vector<int32_t> labels;
};

// The same for every run; another one each step.
Batch MakeBatch(const TensorType& images, int64_t num_classes, int step) {
  Batch batch;
  const uint64_t key = MixKeys(17, static_cast<uint64_t>(step));
  for (int64_t i = 0; i < images.num_elements(); ++i) {
    const auto block = Philox4x32(key, static_cast<uint64_t>(i / 4));
    batch.images.push_back(UniformFloat(block[static_cast<size_t>(i % 4)]));
  }
  for (int64_t i = 0; i < images.shape.dim(0); ++i) {
    batch.labels.push_back(static_cast<int32_t>((i + step) % num_classes));
  }
  return batch;
}

absl::Status RunSteps(const TrainModelSpec& spec, const Graph& graph,
                      const ModelGraph& model, Session& session,
                      TrainedModel& result) {
  const TensorType images = graph.type(model.images.id());
  const TensorType labels = graph.type(model.labels.id());
  for (int step = 0; step < spec.steps; ++step) {
    const Batch batch = MakeBatch(images, spec.num_classes, step);
    ASSIGN_OR_RETURN(
        const StepResult fetched,
        session.Step({{model.images.id(), {images, batch.images.data()}},
                      {model.labels.id(), {labels, batch.labels.data()}}}));
    result.losses.push_back(fetched.scalar(model.loss.id()));
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
                               .num_classes = spec.num_classes}));
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
  RETURN_IF_ERROR(RunSteps(spec, graph, model, *session, result));
  ASSIGN_OR_RETURN(const auto variables, session->ReadVariables());
  result.checksum = Checksum(variables);
  result.memory = session->memory();
  result.copies = session->copies(0);
  return result;
}

}  // namespace spillway::testing
