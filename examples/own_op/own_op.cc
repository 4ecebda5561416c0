// Adds an op (squared_relu.h) to those of the library, checks its gradient with
// central differences, and trains a small network with it. The network learns
// which points are inside a circle.
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

#include "squared_relu.h"

namespace {

using namespace spillway;  // NOLINT(google-build-using-namespace)

// The library's ops and SquaredRelu. Builders and sessions borrow these
// registries.
struct Registries {
  OpRegistry ops = StandardOps();
  KernelRegistry kernels = StandardKernels();

  Registries() {
    AddSquaredRelu(ops);
    AddSquaredReluKernels(kernels);
  }
};

absl::Status CheckSquaredRelu(const Registries& registries) {
  return CheckGradients({.op = "SquaredRelu",
                         .inputs = {{.dtype = DType::kFloat32, .shape = {9}}},
                         .values = {{0, {-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3}}},
                         .ops = &registries.ops,
                         .kernels = &registries.kernels});
}

constexpr int64_t kPoints = 256;

struct Points {
  std::array<float, 2 * kPoints> xy = {};
  std::array<int32_t, kPoints> is_inside = {};
};

// A grid over [-1, 1] x [-1, 1]; the circle has the radius 0.75.
Points MakePoints() {
  Points points;
  for (size_t i = 0; i < static_cast<size_t>(kPoints); ++i) {
    const float x = static_cast<float>(i % 16) / 7.5f - 1;
    const float y = static_cast<float>(i / 16) / 7.5f - 1;
    points.xy[2 * i] = x;
    points.xy[2 * i + 1] = y;
    points.is_inside[i] = x * x + y * y < 0.75f * 0.75f ? 1 : 0;
  }
  return points;
}

absl::Status Train(const Registries& registries) {
  const Points points = MakePoints();
  GraphBuilder g(registries.ops, "circle");
  const Tensor xy = g.Placeholder("xy", DType::kFloat32, {kPoints, 2});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {kPoints});
  Tensor x = xy;
  for (const char* layer : {"hidden1", "hidden2"}) {
    x = SquaredRelu(g.Scope(layer), Dense(g.Scope(layer), x, {.units = 16}));
  }
  x = Dense(g.Scope("logits"), x, {.units = 2});
  const Tensor loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), x, labels);
  const Tensor accuracy = Accuracy(g.Scope("accuracy"), x, labels);
  Minimize(g.Scope("optimizer"), loss, Adam{.learning_rate = 0.01});
  SPILLWAY_ASSIGN_OR_RETURN(const Graph graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      CreateTunedSession(Program{.graph = graph, .fetches = {loss, accuracy}},
                         {.device = "cpu",
                          .ops = &registries.ops,
                          .kernels = &registries.kernels}));

  float reached = 0;
  for (int step = 1; step <= 300; ++step) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult result,
        session->Step({{xy, points.xy}, {labels, points.is_inside}}));
    SPILLWAY_ASSIGN_OR_RETURN(const float now, result.scalar(loss));
    SPILLWAY_ASSIGN_OR_RETURN(reached, result.scalar(accuracy));
    if (step % 100 != 0) continue;
    std::printf("step %3d  loss %.3f  accuracy %.3f\n", step, now, reached);
  }
  if (reached < 0.95f) return Internal("the accuracy is below 0.95");
  return absl::OkStatus();
}

}  // namespace

int main() {
  const Registries registries;
  absl::Status status = CheckSquaredRelu(registries);
  if (status.ok()) status = Train(registries);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
