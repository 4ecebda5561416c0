// The kernels in which ResNet-50 spends its time, forward and backward, at its
// shapes and a batch of 16.
//
// Each benchmark is one op in a training step of one layer. The time is that of
// the op's own span in the measured timeline, so it excludes feeds, the rest of
// the step and the session. FLOPS and bytes are the op's stated cost (OpCost).
//   build/release/bin/ops_bench --benchmark_filter=conv3x3
#include <benchmark/benchmark.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/types_of.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

constexpr int64_t kBatch = 16;

// One layer and the ops in its training step.
struct LayerCase {
  std::string name = {};
  Shape input = {};
  std::function<Tensor(const NameScope&, Tensor)> layer = nullptr;
  std::vector<std::string> ops = {};
};

struct ConvolutionShape {
  const char* name = nullptr;
  int64_t size = 0;  // height and width of the input
  int64_t in = 0;    // channels
  int64_t out = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
};

constexpr std::array<ConvolutionShape, 8> kConvolutions = {{
    {"conv7x7_stem", 224, 3, 64, 7, 2},
    {"conv1x1_56_reduce", 56, 256, 64},
    {"conv1x1_56_expand", 56, 64, 256},
    {"conv1x1_28_stride2", 56, 256, 128, 1, 2},
    {"conv3x3_56", 56, 64, 64, 3},
    {"conv3x3_28", 28, 128, 128, 3},
    {"conv3x3_14", 14, 256, 256, 3},
    {"conv3x3_7", 7, 512, 512, 3},
}};

LayerCase ConvolutionCase(const ConvolutionShape& shape) {
  const auto layer = [shape](const NameScope& scope, Tensor x) {
    return Conv2D(scope, x,
                  {.filters = shape.out,
                   .kernel = {shape.kernel, shape.kernel},
                   .strides = {shape.stride, shape.stride},
                   .padding = "SAME_RESNET",
                   .use_bias = false});
  };
  return {.name = shape.name,
          .input = {kBatch, shape.size, shape.size, shape.in},
          .layer = layer,
          .ops = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"}};
}

LayerCase BatchNormCase(int64_t size, int64_t channels) {
  const auto layer = [](const NameScope& scope, Tensor x) {
    return BatchNorm(scope, x, {.activation = Activation::kRelu});
  };
  return {.name = fmt::format("batch_norm_relu_{}x{}", size, channels),
          .input = {kBatch, size, size, channels},
          .layer = layer,
          .ops = {"FusedBatchNorm", "FusedBatchNormGrad"}};
}

LayerCase MaxPoolCase(int64_t size, int64_t channels, int64_t stride) {
  const auto layer = [stride](const NameScope& scope, Tensor x) {
    return MaxPool(
        scope, x,
        {.window = {3, 3}, .strides = {stride, stride}, .padding = "SAME"});
  };
  return {
      .name = fmt::format("max_pool_{}x{}_stride{}", size, channels, stride),
      .input = {kBatch, size, size, channels},
      .layer = layer,
      .ops = {"MaxPool", "MaxPoolGrad"}};
}

LayerCase DenseCase() {
  const auto layer = [](const NameScope& scope, Tensor x) {
    return Dense(scope, x, {.units = 1000});
  };
  return {.name = "logits",
          .input = {kBatch, 2048},
          .layer = layer,
          .ops = {"MatMul"}};
}

std::vector<LayerCase> AllCases() {
  std::vector<LayerCase> cases;
  cases.reserve(kConvolutions.size() + 5);
  for (const ConvolutionShape& shape : kConvolutions) {
    cases.push_back(ConvolutionCase(shape));
  }
  cases.push_back(BatchNormCase(56, 256));
  cases.push_back(BatchNormCase(14, 1024));
  cases.push_back(MaxPoolCase(112, 64, 2));
  cases.push_back(MaxPoolCase(28, 192, 1));
  cases.push_back(DenseCase());
  return cases;
}

// The layer between a trainable input, which makes it compute an input
// gradient, and a loss that needs every element.
absl::StatusOr<Program> TrainingStep(const LayerCase& layer_case) {
  GraphBuilder g(StandardOps());
  const Tensor x =
      AddVariable(g, {.name = "x",
                      .shape = layer_case.input,
                      .initializer = Initializer::TruncatedNormal(1)});
  const Tensor y = layer_case.layer(g.Scope("layer"), x);
  const Tensor target = AddVariable(
      g, {.name = "target", .shape = y.shape(), .trainable = false});
  const Tensor loss = MeanSquaredDistance(g.Scope("loss"), y, target);
  Minimize(g.Scope("optimizer"), loss, Sgd{.learning_rate = 0});
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  return Program{.graph = std::move(graph), .fetches = {loss.id()}};
}

// The cost of all nodes with this op.
OpCost CostOf(const Graph& graph, const std::string& op) {
  const OpDef& def = *StandardOps().Find(op);
  OpCost sum;
  for (const Node& node : graph.nodes()) {
    if (node.op != op || def.cost == nullptr) continue;
    const std::vector<TensorType> inputs = TypesOf(graph, node.inputs);
    const std::vector<TensorType> outputs = TypesOf(graph, node.outputs);
    const OpCost cost = def.cost(
        {.attributes = node.attributes, .inputs = inputs, .outputs = outputs});
    sum.flops += cost.flops;
    sum.bytes += cost.bytes;
  }
  return sum;
}

double SpanSeconds(const Timeline& timeline, const std::string& op) {
  int64_t sum_ns = 0;
  for (const Span& span : timeline.spans) {
    if (span.category == op) sum_ns += span.end_ns - span.begin_ns;
  }
  return static_cast<double>(sum_ns) * 1e-9;
}

absl::Status MeasureOp(const LayerCase& layer_case, const std::string& op,
                       benchmark::State& state) {
  SPILLWAY_ASSIGN_OR_RETURN(Program program, TrainingStep(layer_case));
  const OpCost cost = CostOf(program.graph, op);
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            NewDevice("cpu", {}));
  std::vector<Program> programs;
  programs.push_back(std::move(program));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      Session::Create(std::move(programs), std::move(device),
                      {.ops = &StandardOps(), .kernels = &StandardKernels()}));
  SPILLWAY_RETURN_IF_ERROR(session->Step({}).status());  // warm-up
  for ([[maybe_unused]] const auto& iteration : state) {
    Timeline timeline;
    SPILLWAY_RETURN_IF_ERROR(session->Step(0, {}, &timeline).status());
    state.SetIterationTime(SpanSeconds(timeline, op));
  }
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["FLOPS"] =
      benchmark::Counter(cost.flops * iterations, benchmark::Counter::kIsRate);
  state.SetBytesProcessed(state.iterations() * cost.bytes);
  return absl::OkStatus();
}

void RegisterAll() {
  for (const LayerCase& layer_case : AllCases()) {
    for (const std::string& op : layer_case.ops) {
      const auto run = [layer_case, op](benchmark::State& state) {
        const absl::Status status = MeasureOp(layer_case, op, state);
        if (!status.ok()) state.SkipWithError(status.ToString().c_str());
      };
      benchmark::RegisterBenchmark(
          fmt::format("{}/{}", layer_case.name, op).c_str(), run)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace spillway

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  spillway::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
