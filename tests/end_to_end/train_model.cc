#include "tests/end_to_end/train_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/random.h"
#include "base/status_macros.h"
#include "graph/passes/standard_passes.h"
#include "graph/well_known_ops.h"
#include "gtest/gtest.h"
#include "lms/lms.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/host_tensor.h"
#include "tests/support/new_session.h"

namespace spillway::testing {
namespace {

// A feed for each Placeholder: labels count up, other values are random. The
// same in every run; another one in each step.
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

absl::Status RunSteps(const TrainGraphSpec& spec, const Graph& graph,
                      ValueId loss, Session& session, TrainedModel& result) {
  for (int step = 0; step < spec.steps; ++step) {
    std::map<ValueId, HostTensor> tensors;
    for (const Node& node : graph.nodes()) {
      if (node.op != kPlaceholder) continue;
      const ValueId id = node.outputs[0];
      tensors[id] = MakeFeed(graph.type(id), spec.num_classes, step);
    }
    SPILLWAY_ASSIGN_OR_RETURN(const StepResult fetched,
                              session.Step(FeedsOf(tensors)));
    SPILLWAY_ASSIGN_OR_RETURN(const float value, fetched.scalar(loss));
    result.losses.push_back(value);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainedModel> TrainSession(Session& session, const Graph& graph,
                                          ValueId loss,
                                          const TrainGraphSpec& spec) {
  TrainedModel result;
  SPILLWAY_RETURN_IF_ERROR(RunSteps(spec, graph, loss, session, result));
  SPILLWAY_ASSIGN_OR_RETURN(const auto variables, session.ReadVariables());
  result.checksum = Checksum(variables);
  result.memory = session.memory();
  result.copies = *session.copies(0);
  return result;
}

absl::StatusOr<TrainedModel> TrainGraph(const Graph& graph, ValueId loss,
                                        const TrainGraphSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(
      auto session, NewSession({.graph = graph, .fetches = {loss}},
                               {.device = spec.device,
                                .threads = spec.threads,
                                .link_gigabytes_per_second = spec.link_gbps,
                                .device_memory = spec.device_memory,
                                .host_memory = spec.host_memory,
                                .schedule = spec.schedule,
                                .seed = 5,
                                .check_memory = spec.check_memory}));
  return TrainSession(*session, graph, loss, spec);
}

absl::StatusOr<TrainedModel> TrainModel(const TrainModelSpec& spec) {
  GraphBuilder g(StandardOps());
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph model,
                            BuildModel(g, spec.model,
                                       {.batch_size = spec.batch_size,
                                        .image_size = spec.image_size,
                                        .num_classes = spec.num_classes,
                                        .dtype = spec.dtype}));
  Minimize(g.Scope("optimizer"), model.loss, spec.optimizer,
           {.weight_decay = spec.weight_decay, .loss_scale = spec.loss_scale});
  SPILLWAY_ASSIGN_OR_RETURN(const Graph built, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<Pass> passes,
                            SelectPasses(spec.passes, PassTarget::kCpu));
  SPILLWAY_ASSIGN_OR_RETURN(
      OptimizedGraph optimized,
      RunPasses(built, StandardOps(), passes, std::vector{model.loss.id()}));
  const ValueId loss = optimized.at(model.loss.id());
  Graph& graph = optimized.graph;
  SPILLWAY_ASSIGN_OR_RETURN(const LmsReport report, ApplyLms(spec.lms, graph));
  SPILLWAY_ASSIGN_OR_RETURN(TrainedModel result,
                            TrainGraph(graph, loss,
                                       {.num_classes = spec.num_classes,
                                        .steps = spec.steps,
                                        .device = spec.device,
                                        .threads = spec.threads,
                                        .link_gbps = spec.link_gbps,
                                        .device_memory = spec.device_memory,
                                        .check_memory = spec.check_memory}));
  result.swap_outs_in_graph = report.swap_outs;
  result.updates_in_graph = std::ranges::count_if(
      graph.nodes(),
      [](const Node& node) { return node.op.starts_with("Apply"); });
  return result;
}

void ExpectExactMemory(const TrainedModel& run) {
  EXPECT_EQ(run.memory.predicted_device_bytes,
            run.memory.measured_device_bytes);
  EXPECT_EQ(run.memory.predicted_host_bytes, run.memory.measured_host_bytes);
  EXPECT_EQ(run.memory.allocations_in_steps, 0);
}

void ExpectSameTraining(const TrainedModel& run, const TrainedModel& expected) {
  EXPECT_EQ(run.losses, expected.losses);
  EXPECT_EQ(run.checksum, expected.checksum);
  ExpectExactMemory(run);
}

void ExpectWithinBudgets(const TrainedModel& run, int64_t device_memory,
                         std::optional<int64_t> host_memory) {
  EXPECT_LE(run.memory.measured_device_bytes, device_memory);
  if (host_memory) {
    EXPECT_LE(run.memory.measured_host_bytes, *host_memory);
  }
}

}  // namespace spillway::testing
