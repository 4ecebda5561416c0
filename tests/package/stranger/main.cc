// Trains one dense layer for a few steps and reports whether a GPU was used.
#define CHECK(condition) stranger_has_no_check(condition)
#define RETURN_IF_ERROR(expression) stranger_has_no_return(expression)
#define ASSIGN_OR_RETURN(declaration, expression) stranger_has_no_assign
#define LOG(severity) stranger_has_no_log(severity)

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/json.h"
#include "graph/graph.h"
#include "spillway/spillway.h"

namespace {

absl::StatusOr<float> TrainedLoss() {
  spillway::GraphBuilder g(spillway::StandardOps(), "stranger");
  const spillway::TensorType row_type = {.dtype = spillway::DType::kFloat32,
                                         .shape = {2, 2}};
  const spillway::TensorType label_type = {.dtype = spillway::DType::kInt32,
                                           .shape = {2}};
  const spillway::Tensor x = g.Placeholder("x", row_type.dtype, row_type.shape);
  const spillway::Tensor labels =
      g.Placeholder("labels", label_type.dtype, label_type.shape);
  const spillway::Tensor loss = spillway::SparseSoftmaxCrossEntropy(
      g.Scope("loss"), spillway::Dense(g.Scope("fc"), x, {.units = 2}), labels);
  spillway::Minimize(g.Scope("optimizer"), loss,
                     spillway::Momentum{.learning_rate = 0.5});
  SPILLWAY_ASSIGN_OR_RETURN(spillway::Graph graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<spillway::Device> device,
                            spillway::NewDevice("cpu", {.threads = 1}));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<spillway::Session> session,
      spillway::Session::Create({{graph, {loss.id()}}}, std::move(device),
                                {.ops = &spillway::StandardOps(),
                                 .kernels = &spillway::StandardKernels()}));
  const std::array<float, 4> rows = {1, 0, 0, 1};
  const std::array<int32_t, 2> classes = {0, 1};
  float last = 0;
  for (int step = 0; step < 100; ++step) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const spillway::StepResult result,
        session->Step(
            {{x.id(), spillway::TensorView{row_type, rows.data()}},
             {labels.id(), spillway::TensorView{label_type, classes.data()}}}));
    last = result.fetched.at(loss.id()).data<float>()[0];
  }
  return last;
}

}  // namespace

int main() {
  const absl::StatusOr<float> loss = TrainedLoss();
  if (!loss.ok() || !(*loss < 0.1f)) {
    std::fprintf(stderr, "not trained: %s\n", loss.status().ToString().c_str());
    return EXIT_FAILURE;
  }
  const absl::Status gpu = spillway::NewDevice("cuda", {}).status();
  std::printf("loss %.3f; own headers %d; cuda: %s\n", *loss,
              Graph().bars + Json().depth, gpu.ToString().c_str());
  return EXIT_SUCCESS;
}
