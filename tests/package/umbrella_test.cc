// The umbrella header, after macros and together with names that a user's
// program may have.
#define CHECK(condition) user_check(condition)
#define RETURN_IF_ERROR(expression) user_return_if_error(expression)
#define ASSIGN_OR_RETURN(declaration, expression) user_assign(declaration)
#define LOG(severity) user_log(severity)

#include "spillway/spillway.h"

#undef CHECK
#undef RETURN_IF_ERROR
#undef ASSIGN_OR_RETURN
#undef LOG

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"

namespace {

TEST(Umbrella, BuildsAGraph) {
  spillway::GraphBuilder g(spillway::StandardOps(), "net");
  const spillway::Tensor x =
      g.Placeholder("x", spillway::DType::kFloat32, {2, 3});
  spillway::Dense(g.Scope("fc"), x, {.units = 4});
  ASSERT_OK_AND_ASSIGN(const spillway::Graph graph, std::move(g).Build());
  EXPECT_GT(graph.nodes().size(), 1u);
}

// README.md's program, word for word.
absl::StatusOr<float> TrainOneStep(std::span<const float> image_span,
                                   std::span<const int32_t> label_span) {
  using namespace spillway;  // NOLINT(google-build-using-namespace)
  // clang-format off
GraphBuilder g;
Tensor images = g.Placeholder("images", DType::kFloat32, {64, 28, 28, 1});
Tensor labels = g.Placeholder("labels", DType::kInt32, {64});
Tensor x = Conv2D(g.Scope("conv1"), images, {.filters = 32, .kernel = {5, 5}, .activation = Activation::kRelu});
x = MaxPool(g.Scope("pool1"), x, {.window = {2, 2}, .strides = {2, 2}});
Tensor logits = Dense(g.Scope("fc"), Flatten(g.Scope("flat"), x), {.units = 10});
Tensor loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
Minimize(g.Scope("optimizer"), loss, Momentum{.learning_rate = 0.01});
SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());

SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, CreateTunedSession(   // tuned, planned, verified here
    {.graph = graph, .fetches = {loss}}, {.device = "cpu", .device_memory = 14_MiB, .lms = LmsOptions::Auto()}));
SPILLWAY_ASSIGN_OR_RETURN(StepResult step, session->Step({{images, image_span}, {labels, label_span}}));
SPILLWAY_ASSIGN_OR_RETURN(float value, step.scalar(loss));
  // clang-format on
  return value;
}

TEST(Umbrella, RunsTheReadmesProgram) {
  const std::vector<float> images(64 * 28 * 28, 0.5f);
  const std::vector<int32_t> labels(64, 3);
  ASSERT_OK_AND_ASSIGN(const float loss, TrainOneStep(images, labels));
  EXPECT_GT(loss, 0);
  EXPECT_THAT(TrainOneStep(std::span(images).first(10), labels),
              spillway::testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                          ::testing::HasSubstr("images")));
}

}  // namespace
