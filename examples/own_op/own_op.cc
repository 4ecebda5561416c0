// An op of one's own (gelu.h), added to the library's: its gradient checked by
// central differences, then trained in a small network. Tells the points inside
// a circle from those outside.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "gelu.h"

namespace {

using namespace spillway;  // NOLINT(google-build-using-namespace)

// The library's ops and Gelu; they have to outlive what is made with them.
struct Registries {
  OpRegistry ops = StandardOps();
  KernelRegistry kernels = StandardKernels();

  Registries() {
    AddGelu(ops);
    AddGeluKernels(kernels);
  }
};

absl::StatusOr<std::unique_ptr<Session>> NewSession(
    const Registries& registries, Graph graph, std::vector<ValueId> fetches) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            NewDevice("cpu", {}));
  std::vector<Program> programs;
  programs.push_back({std::move(graph), std::move(fetches)});
  return Session::Create(
      std::move(programs), std::move(device),
      {.ops = &registries.ops, .kernels = &registries.kernels});
}

float First(const StepResult& result, ValueId id) {
  return result.fetched.at(id).data<float>()[0];
}

// loss = mean of (Gelu(x) - 1)^2 over a few x; d loss / d x by the op's
// gradient against (loss(x + e) - loss(x - e)) / 2 e, one element at a time.
absl::Status CheckGradient(const Registries& registries) {
  std::array<float, 9> values = {-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3};
  const TensorType type = {.dtype = DType::kFloat32, .shape = {9}};
  GraphBuilder g(registries.ops, "gelu");
  const Tensor x = g.Placeholder("x", type.dtype, type.shape);
  const Tensor loss = MeanSquaredDistance(g.Scope("loss"), Gelu(g, x),
                                          Constant(g, DType::kFloat32, 1));
  const std::vector<Tensor> dx =
      AddGradients(g.Scope("gradients"), loss, std::array{x});
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      NewSession(registries, std::move(graph), {loss.id(), dx[0].id()}));

  const TensorView fed = {.type = type, .data = values.data()};
  SPILLWAY_ASSIGN_OR_RETURN(const StepResult at,
                            session->Step({{x.id(), fed}}));
  constexpr float kStep = 1.0f / 64;
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    values[i] = value + kStep;
    SPILLWAY_ASSIGN_OR_RETURN(const StepResult above,
                              session->Step({{x.id(), fed}}));
    values[i] = value - kStep;
    SPILLWAY_ASSIGN_OR_RETURN(const StepResult below,
                              session->Step({{x.id(), fed}}));
    values[i] = value;
    const float expected =
        (First(above, loss.id()) - First(below, loss.id())) / (2 * kStep);
    const float got = at.fetched.at(dx[0].id()).data<float>()[i];
    if (!(std::abs(got - expected) < 1e-3f)) {
      return Internal("the gradient of Gelu is wrong");
    }
  }
  std::printf("the gradient of Gelu agrees with central differences\n");
  return absl::OkStatus();
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
  const TensorType point_type = {.dtype = DType::kFloat32,
                                 .shape = {kPoints, 2}};
  const TensorType label_type = {.dtype = DType::kInt32, .shape = {kPoints}};
  GraphBuilder g(registries.ops, "circle");
  const Tensor xy = g.Placeholder("xy", point_type.dtype, point_type.shape);
  const Tensor labels =
      g.Placeholder("labels", label_type.dtype, label_type.shape);
  Tensor x = xy;
  for (const char* layer : {"hidden1", "hidden2"}) {
    x = Gelu(g.Scope(layer), Dense(g.Scope(layer), x, {.units = 16}));
  }
  x = Dense(g.Scope("logits"), x, {.units = 2});
  const Tensor loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), x, labels);
  const Tensor accuracy = Accuracy(g.Scope("accuracy"), x, labels);
  Minimize(g.Scope("optimizer"), loss, Adam{.learning_rate = 0.01});
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      NewSession(registries, std::move(graph), {loss.id(), accuracy.id()}));

  float reached = 0;
  for (int step = 1; step <= 300; ++step) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult result,
        session->Step(
            {{xy.id(), TensorView{point_type, points.xy.data()}},
             {labels.id(), TensorView{label_type, points.is_inside.data()}}}));
    reached = First(result, accuracy.id());
    if (step % 100 != 0) continue;
    std::printf("step %3d  loss %.3f  accuracy %.3f\n", step,
                First(result, loss.id()), reached);
  }
  if (reached < 0.95f) return Internal("the network has not learnt the circle");
  return absl::OkStatus();
}

}  // namespace

int main() {
  const Registries registries;
  absl::Status status = CheckGradient(registries);
  if (status.ok()) status = Train(registries);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
