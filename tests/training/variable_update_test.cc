// One step of each optimizer against numbers worked out by hand, steps with
// norms of zero, convergence, and the number of threads.
#include "training/variable_update.h"

#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/training/dot.h"

namespace spillway {
namespace {

using testing::AddDot;
using testing::Dot;
using testing::EvalGraph;
using testing::EvalState;
using testing::IsOk;
using testing::MakeHostTensor;
using testing::Values;

struct Steps {
  Shape shape = {1, 2};
  std::vector<float> w = {};
  std::vector<std::vector<float>> gradients = {};  // of the steps
  std::vector<float> rates = {};  // of the steps; empty: the optimizer's
  MinimizeOptions options = {};
};

// The variable after the steps.
absl::StatusOr<std::vector<double>> UpdatedBy(const Optimizer& optimizer,
                                              const Steps& steps) {
  GraphBuilder g(StandardOps());
  const Dot dot = AddDot(g, steps.shape);
  MinimizeOptions options = steps.options;
  const Tensor rate = g.Placeholder("rate", DType::kFloat32, {});
  if (!steps.rates.empty()) options.learning_rate_feed = rate;
  Minimize(g.Scope("optimizer"), dot.loss, optimizer, options);
  SPILLWAY_ASSIGN_OR_RETURN(const Graph graph, std::move(g).Build());
  EvalState state;
  state.variables["w"] = MakeHostTensor(dot.w.type(), steps.w);
  for (size_t i = 0; i < steps.gradients.size(); ++i) {
    std::map<ValueId, HostTensor> feeds = {
        {dot.c.id(), MakeHostTensor(dot.c.type(), steps.gradients[i])}};
    if (!steps.rates.empty()) {
      feeds[rate.id()] = MakeHostTensor<float>(rate.type(), {steps.rates[i]});
    }
    SPILLWAY_RETURN_IF_ERROR(EvalGraph(graph, feeds, {}, state).status());
  }
  return Values(state.variables["w"]);
}

void ExpectValues(const std::vector<double>& got,
                  const std::vector<double>& want, double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
  }
}

// v: 0, then -0.1 * (1, -2); then with half the rate 0.5 v - 0.05 * (2, 2).
TEST(VariableUpdateTest, AVelocityContainsTheRateOfEachStep) {
  const Steps steps = {
      .w = {1, 1}, .gradients = {{1, -2}, {2, 2}}, .rates = {0.1f, 0.05f}};
  ASSERT_OK_AND_ASSIGN(const auto velocity,
                       UpdatedBy(Velocity{.momentum = 0.5}, steps));
  ExpectValues(velocity, {1 - 0.1 - 0.15, 1 + 0.2 + 0.0});
  // a: (1, -2), then (2.5, 1), all of it times the new rate.
  ASSERT_OK_AND_ASSIGN(const auto momentum,
                       UpdatedBy(Momentum{.momentum = 0.5}, steps));
  ExpectValues(momentum, {1 - 0.1 - 0.125, 1 + 0.2 - 0.05});
}

// Steps of 1.5 v, then of -0.5 v0 + 1.5 v with v = (-0.15, 0).
TEST(VariableUpdateTest, NesterovStepsFromTheOldVelocityToTheNewOne) {
  ASSERT_OK_AND_ASSIGN(
      const auto w, UpdatedBy(Velocity{.momentum = 0.5, .use_nesterov = true},
                              {.w = {1, 1},
                               .gradients = {{1, -2}, {2, 2}},
                               .rates = {0.1f, 0.05f}}));
  ExpectValues(w, {1 - 0.15 + 0.05 - 0.225, 1 + 0.3 - 0.1 + 0.0});
}

// c: 9 and 16; then 9 + 16 and 16 + 9, whose roots are 5.
TEST(VariableUpdateTest, AdaGradDividesByTheRootOfAllSquares) {
  ASSERT_OK_AND_ASSIGN(
      const auto w, UpdatedBy(AdaGrad{.learning_rate = 0.1},
                              {.w = {1, 1}, .gradients = {{3, -4}, {4, 3}}}));
  ExpectValues(w, {1 - 0.1 - 0.08, 1 + 0.1 - 0.06});
}

// Adam's first step is the rate, whatever the size of the gradient: 0.1 to the
// sign of g. A decay in g would vanish in it.
TEST(VariableUpdateTest, AdamWDecaysBesidesTheStepOfAdam) {
  const AdamW adamw = {.learning_rate = 0.1, .weight_decay = 0.5};
  const Steps steps = {.w = {2, -4}, .gradients = {{3, 7}}};
  ASSERT_OK_AND_ASSIGN(const auto w, UpdatedBy(adamw, steps));
  ExpectValues(w, {2 - 0.1 - 0.1 * 0.5 * 2, -4 - 0.1 + 0.1 * 0.5 * 4});
  // A vector does not decay.
  ASSERT_OK_AND_ASSIGN(
      const auto vector,
      UpdatedBy(adamw, {.shape = {2}, .w = {2, -4}, .gradients = {{3, 7}}}));
  ExpectValues(vector, {2 - 0.1, -4 - 0.1});
}

TEST(VariableUpdateTest, AdamWWithoutDecayIsAdam) {
  const Steps steps = {.w = {2, -4}, .gradients = {{3, 7}, {-1, 2}}};
  ASSERT_OK_AND_ASSIGN(const auto adam, UpdatedBy(Adam(), steps));
  ASSERT_OK_AND_ASSIGN(const auto adamw,
                       UpdatedBy(AdamW{.weight_decay = 0}, steps));
  EXPECT_EQ(adam, adamw);
}

// w = (3, 4), so |w| = 5; g = (0.6, 0.8), so |g| = 1; decay 1e-4.
const Steps kLarsStep = {.w = {3, 4},
                         .gradients = {{0.6f, 0.8f}},
                         .options = {.weight_decay = 1e-4}};

std::vector<double> AfterRatio(double ratio) {
  return {3 - ratio * (0.6 + 1e-4 * 3), 4 - ratio * (0.8 + 1e-4 * 4)};
}

// 0.001 * 5 / (1 + 1e-4 * 5 + 1e-8)
TEST(VariableUpdateTest, LarsMultipliesTheRateByARatioOfNorms) {
  ASSERT_OK_AND_ASSIGN(const auto w,
                       UpdatedBy(Lars{.learning_rate = 1}, kLarsStep));
  ExpectValues(w, AfterRatio(0.0049975012), 3e-7);
  ASSERT_OK_AND_ASSIGN(const auto fast,
                       UpdatedBy(Lars{.learning_rate = 100}, kLarsStep));
  ExpectValues(fast, AfterRatio(0.49975012), 1e-6);
}

// sqrt(25 / (1 + 1e-4 * 25 + 1e-18))
TEST(VariableUpdateTest, LbsgdHasAnotherRatio) {
  ASSERT_OK_AND_ASSIGN(
      const auto w,
      UpdatedBy(Lars{.learning_rate = 1, .form = LarsForm::kLbsgd}, kLarsStep));
  ExpectValues(w, AfterRatio(4.993761694), 1e-6);
}

TEST(VariableUpdateTest, LarsTakesTheRateAsItIsWhereANormIsZero) {
  const Lars lars = {.learning_rate = 0.5};
  ASSERT_OK_AND_ASSIGN(
      const auto no_variable,
      UpdatedBy(lars, {.w = {0, 0}, .gradients = {{0.5f, -1}}}));
  ExpectValues(no_variable, {-0.25, 0.5});
  ASSERT_OK_AND_ASSIGN(const auto no_gradient,
                       UpdatedBy(lars, {.w = {3, 4},
                                        .gradients = {{0, 0}},
                                        .options = {.weight_decay = 0.1}}));
  ExpectValues(no_gradient, {3 - 0.15, 4 - 0.2});
}

// Without a gradient, sqrt(1 / 1e-4) = 100, which is the limit too; without a
// decay the ratio is 5e9. Without a variable it is 0.
TEST(VariableUpdateTest, LbsgdClampsTheRatioToItsLimits) {
  const Lars lbsgd = {.learning_rate = 0.5, .form = LarsForm::kLbsgd};
  ASSERT_OK_AND_ASSIGN(const auto no_gradient,
                       UpdatedBy(lbsgd, {.w = {3, 4},
                                         .gradients = {{0, 0}},
                                         .options = {.weight_decay = 1e-4}}));
  ExpectValues(no_gradient, {3 - 50 * 3e-4, 4 - 50 * 4e-4});
  ASSERT_OK_AND_ASSIGN(
      const auto tiny_gradient,
      UpdatedBy(lbsgd, {.w = {3, 4}, .gradients = {{1e-3f, 0}}}));
  ExpectValues(tiny_gradient, {3 - 50 * 1e-3, 4});
  ASSERT_OK_AND_ASSIGN(const auto no_variable,
                       UpdatedBy(lbsgd, {.w = {0, 0}, .gradients = {{1, -2}}}));
  ExpectValues(no_variable, {-0.005, 0.01});
}

// The norm of the gradient is that after the loss scale: equal ratios.
TEST(VariableUpdateTest, ALossScaleDoesNotChangeARatio) {
  for (const LarsForm form : {LarsForm::kCorrected, LarsForm::kLbsgd}) {
    Steps scaled = kLarsStep;
    scaled.options.loss_scale = 1024;
    const Lars lars = {.learning_rate = 1, .form = form};
    ASSERT_OK_AND_ASSIGN(const auto plain, UpdatedBy(lars, kLarsStep));
    // The graph multiplies the gradient of the loss by the scale, the update
    // divides: exact for a power of two.
    ASSERT_OK_AND_ASSIGN(const auto with_scale, UpdatedBy(lars, scaled));
    EXPECT_EQ(plain, with_scale);
  }
}

TEST(VariableUpdateTest, LarsLeavesVectorsToTheirRate) {
  const Steps vector = {.shape = {2},
                        .w = {3, 4},
                        .gradients = {{0.6f, 0.8f}},
                        .options = {.weight_decay = 1e-4}};
  ASSERT_OK_AND_ASSIGN(const auto corrected,
                       UpdatedBy(Lars{.learning_rate = 0.1}, vector));
  ExpectValues(corrected, {3 - 0.06, 4 - 0.08});
  // LBSGD multiplies by the ratio 5 / 1, without a decay.
  ASSERT_OK_AND_ASSIGN(
      const auto lbsgd,
      UpdatedBy(Lars{.learning_rate = 0.1, .form = LarsForm::kLbsgd}, vector));
  ExpectValues(lbsgd, {3 - 0.3, 4 - 0.4});
}

struct Convergence {
  std::string name;
  Optimizer optimizer;
};

void PrintTo(const Convergence& convergence, std::ostream* out) {
  *out << convergence.name;
}

class ConvergenceTest : public ::testing::TestWithParam<Convergence> {};

// loss = the sum of h (w - t)^2 / 2 over six parameters, from w = 0.
TEST_P(ConvergenceTest, FiftyStepsMinimizeAQuadratic) {
  GraphBuilder g(StandardOps());
  const Shape shape = {2, 3};
  const Tensor w = AddVariable(
      g,
      {.name = "w", .shape = shape, .initializer = Initializer::Constant(0)});
  const Tensor t = g.Placeholder("t", DType::kFloat32, shape);
  const Tensor h = g.Placeholder("h", DType::kFloat32, shape);
  const Tensor difference = w - t;
  const Tensor loss =
      g.Add(g, {.op = "Sum",
                .inputs = {difference * difference * h * 0.5f},
                .attributes = {{"axes", std::vector<int64_t>{0, 1}}}});
  Minimize(g.Scope("optimizer"), loss, GetParam().optimizer);
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());

  const std::map<ValueId, HostTensor> feeds = {
      {t.id(), MakeHostTensor<float>(t.type(), {3, -2, 1, 0.5f, -1, 2})},
      {h.id(), MakeHostTensor<float>(h.type(), {1, 2, 3, 4, 5, 6})}};
  const std::vector<ValueId> fetches = {loss};
  EvalState state;
  std::vector<float> losses;
  for (int step = 0; step <= 50; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto values,
                         EvalGraph(graph, feeds, fetches, state));
    losses.push_back(*values.at(loss).data<float>());
  }
  EXPECT_EQ(losses.front(), 25);
  EXPECT_LT(losses.back(), losses.front() / 100);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConvergenceTest,
    ::testing::Values(
        Convergence{"Sgd", Sgd{.learning_rate = 0.2}},
        Convergence{"Momentum",
                    Momentum{.learning_rate = 0.05, .momentum = 0.7}},
        Convergence{"Velocity",
                    Velocity{.learning_rate = 0.05, .momentum = 0.7}},
        Convergence{"Nesterov", Velocity{.learning_rate = 0.05,
                                         .momentum = 0.7,
                                         .use_nesterov = true}},
        Convergence{"AdaGrad", AdaGrad{.learning_rate = 1}},
        Convergence{"Adam", Adam{.learning_rate = 0.3}},
        Convergence{"AdamW",
                    AdamW{.learning_rate = 0.3, .weight_decay = 0.001}},
        Convergence{"RmsProp", RmsProp{.learning_rate = 0.1}},
        // The steps of LARS are a fraction of the variable's norm.
        Convergence{"Lars",
                    Lars{.learning_rate = 0.1, .momentum = 0.5, .eta = 1}},
        Convergence{"Lbsgd", Lars{.learning_rate = 0.1,
                                  .momentum = 0.5,
                                  .form = LarsForm::kLbsgd}}),
    [](const auto& info) { return info.param.name; });

// The bytes of a large variable, whose norms are sums of several parts.
TEST(VariableUpdateTest, TheNumberOfThreadsDoesNotChangeABit) {
  const Shape shape = {7, 30011};
  for (const Optimizer& optimizer :
       {Optimizer(Velocity{.use_nesterov = true}), Optimizer(Lars()),
        Optimizer(Lars{.form = LarsForm::kLbsgd}), Optimizer(AdaGrad()),
        Optimizer(AdamW())}) {
    GraphBuilder g(StandardOps());
    const Dot dot = AddDot(g, shape);
    Minimize(g.Scope("optimizer"), dot.loss, optimizer, {.weight_decay = 1e-4});
    ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
    std::vector<float> gradient;
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      gradient.push_back(
          static_cast<float>(NormalAt(5, static_cast<uint64_t>(i))));
    }
    const std::map<ValueId, HostTensor> feeds = {
        {dot.c.id(), MakeHostTensor(dot.c.type(), gradient)}};
    std::vector<std::map<std::string, HostTensor>> results;
    for (const int threads : {1, 2, 5}) {
      EvalState state = {.threads = threads};
      for (int step = 0; step < 2; ++step) {
        ASSERT_THAT(EvalGraph(graph, feeds, {}, state), IsOk());
      }
      results.push_back(std::move(state.variables));
    }
    for (const auto& [name, tensor] : results[0]) {
      EXPECT_EQ(results[1].at(name).bytes, tensor.bytes) << name;
      EXPECT_EQ(results[2].at(name).bytes, tensor.bytes) << name;
    }
  }
}

}  // namespace
}  // namespace spillway
