// Every optimizer against its equation in double, step by step.
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/training/dot.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::AddDot;
using testing::Dot;
using testing::EvalGraph;
using testing::EvalState;
using testing::GradientAt;
using testing::IsOk;
using testing::kSize;
using testing::MakeHostTensor;
using testing::Values;

// Independent of the library: one parameter, in double. `t` counts from 1.
using TwinRule = std::function<double(double w, double g, int t)>;

struct Twin {
  std::string name;
  Optimizer optimizer;
  double weight_decay = 0;
  std::function<TwinRule()> rule;  // with its own slots
};

class OptimizerTwinTest : public ::testing::TestWithParam<Twin> {};

TEST_P(OptimizerTwinTest, StepsAgreeWithTheEquationInDouble) {
  const Twin& twin = GetParam();
  GraphBuilder g(StandardOps());
  const Dot dot = AddDot(g, {2, kSize / 2});
  Minimize(g.Scope("optimizer"), dot.loss, twin.optimizer,
           {.weight_decay = twin.weight_decay});
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());

  EvalState state;
  const TensorType type = {.dtype = DType::kFloat32, .shape = {2, kSize / 2}};
  state.variables["w"] = MakeHostTensor(type, GradientAt(1000));
  std::vector<double> expected = Values(state.variables["w"]);
  std::vector<TwinRule> rules;
  rules.reserve(kSize);
  for (int i = 0; i < kSize; ++i) rules.push_back(twin.rule());
  for (int t = 1; t <= 20; ++t) {
    const std::vector<float> gradient = GradientAt(t);
    const std::map<ValueId, HostTensor> feeds = {
        {dot.c.id(), MakeHostTensor(type, gradient)}};
    ASSERT_THAT(EvalGraph(graph, feeds, {}, state), IsOk());
    const std::vector<double> actual = Values(state.variables["w"]);
    for (size_t i = 0; i < kSize; ++i) {
      const double g_i = gradient[i] + twin.weight_decay * expected[i];
      expected[i] = rules[i](expected[i], g_i, t);
      EXPECT_NEAR(actual[i], expected[i], 2e-5) << "step " << t << ", " << i;
    }
  }
}

TwinRule SgdRule() {
  return [](double w, double g, int) { return w - 0.1 * g; };
}

TwinRule MomentumRule() {
  return [a = 0.0](double w, double g, int) mutable {
    a = 0.8 * a + g;
    return w - 0.1 * a;
  };
}

TwinRule NesterovRule() {
  return [a = 0.0](double w, double g, int) mutable {
    a = 0.8 * a + g;
    return w - 0.1 * (g + 0.8 * a);
  };
}

TwinRule VelocityRule() {
  return [v = 0.0](double w, double g, int) mutable {
    v = 0.8 * v - 0.1 * g;
    return w + v;
  };
}

TwinRule NesterovVelocityRule() {
  return [v = 0.0](double w, double g, int) mutable {
    const double old = v;
    v = 0.8 * old - 0.1 * g;
    return w - 0.8 * old + 1.8 * v;
  };
}

TwinRule AdaGradRule() {
  return [c = 0.0](double w, double g, int) mutable {
    c += g * g;
    return w - 0.1 * g / (std::sqrt(c) + 1e-3);
  };
}

TwinRule AdamRule() {
  return [m = 0.0, v = 0.0](double w, double g, int t) mutable {
    m = 0.8 * m + 0.2 * g;
    v = 0.95 * v + 0.05 * g * g;
    const double rate =
        0.1 * std::sqrt(1 - std::pow(0.95, t)) / (1 - std::pow(0.8, t));
    return w - rate * m / (std::sqrt(v) + 1e-3);
  };
}

TwinRule AdamWRule() {
  return [adam = AdamRule()](double w, double g, int t) {
    return adam(w, g, t) - 0.1 * 0.4 * w;
  };
}

TwinRule RmsPropRule() {
  return [s = 0.0, a = 0.0](double w, double g, int) mutable {
    s = 0.8 * s + 0.2 * g * g;
    a = 0.5 * a + 0.1 * g / std::sqrt(s + 1e-3);
    return w - a;
  };
}

const Sgd kSgd = {.learning_rate = 0.1};
const Momentum kMomentum = {.learning_rate = 0.1, .momentum = 0.8};
const Momentum kNesterov = {
    .learning_rate = 0.1, .momentum = 0.8, .use_nesterov = true};
const Velocity kVelocity = {.learning_rate = 0.1, .momentum = 0.8};
const Velocity kNesterovVelocity = {
    .learning_rate = 0.1, .momentum = 0.8, .use_nesterov = true};
const AdaGrad kAdaGrad = {.learning_rate = 0.1, .epsilon = 1e-3};
const Adam kAdam = {
    .learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3};
const AdamW kAdamW = {.learning_rate = 0.1,
                      .beta1 = 0.8,
                      .beta2 = 0.95,
                      .epsilon = 1e-3,
                      .weight_decay = 0.4};
const RmsProp kRmsProp = {
    .learning_rate = 0.1, .decay = 0.8, .momentum = 0.5, .epsilon = 1e-3};

INSTANTIATE_TEST_SUITE_P(
    All, OptimizerTwinTest,
    ::testing::Values(Twin{"Sgd", kSgd, 0, SgdRule},
                      Twin{"SgdDecay", kSgd, 0.3, SgdRule},
                      Twin{"Momentum", kMomentum, 0, MomentumRule},
                      Twin{"MomentumDecay", kMomentum, 0.3, MomentumRule},
                      Twin{"Nesterov", kNesterov, 0, NesterovRule},
                      Twin{"NesterovDecay", kNesterov, 0.3, NesterovRule},
                      Twin{"Velocity", kVelocity, 0, VelocityRule},
                      Twin{"VelocityDecay", kVelocity, 0.3, VelocityRule},
                      Twin{"NesterovVelocity", kNesterovVelocity, 0,
                           NesterovVelocityRule},
                      Twin{"NesterovVelocityDecay", kNesterovVelocity, 0.3,
                           NesterovVelocityRule},
                      Twin{"AdaGrad", kAdaGrad, 0, AdaGradRule},
                      Twin{"AdaGradDecay", kAdaGrad, 0.3, AdaGradRule},
                      Twin{"Adam", kAdam, 0, AdamRule},
                      Twin{"AdamDecay", kAdam, 0.3, AdamRule},
                      Twin{"AdamW", kAdamW, 0, AdamWRule},
                      Twin{"AdamWWithBothDecays", kAdamW, 0.3, AdamWRule},
                      Twin{"RmsProp", kRmsProp, 0, RmsPropRule},
                      Twin{"RmsPropDecay", kRmsProp, 0.3, RmsPropRule}),
    [](const auto& info) { return info.param.name; });

// LARS, whose ratio needs all parameters of a variable: one step in double.
struct LarsTwin {
  std::string name;
  LarsForm form = LarsForm::kCorrected;
  double decay = 0;
  std::function<double(double w, double g)> ratio;  // of the norms
};

class LarsTwinTest : public ::testing::TestWithParam<LarsTwin> {};

double NormOf(const std::vector<double>& x) {
  double squares = 0;
  for (const double item : x) squares += item * item;
  return std::sqrt(squares);
}

TEST_P(LarsTwinTest, StepsAgreeWithTheEquationInDouble) {
  const LarsTwin& twin = GetParam();
  GraphBuilder g(StandardOps());
  const Dot dot = AddDot(g, {2, kSize / 2});
  Minimize(g.Scope("optimizer"), dot.loss,
           Lars{.learning_rate = 0.1,
                .momentum = 0.8,
                .eta = 0.5,
                .epsilon = 1e-2,
                .form = twin.form},
           {.weight_decay = twin.decay, .loss_scale = 8});
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());

  EvalState state;
  const TensorType type = {.dtype = DType::kFloat32, .shape = {2, kSize / 2}};
  state.variables["w"] = MakeHostTensor(type, GradientAt(1000));
  std::vector<double> w = Values(state.variables["w"]);
  std::vector<double> v(kSize);
  for (int t = 1; t <= 20; ++t) {
    const std::vector<float> gradient = GradientAt(t);
    const std::map<ValueId, HostTensor> feeds = {
        {dot.c.id(), MakeHostTensor(type, gradient)}};
    ASSERT_THAT(EvalGraph(graph, feeds, {}, state), IsOk());
    const double ratio =
        twin.ratio(NormOf(w), NormOf({gradient.begin(), gradient.end()}));
    const std::vector<double> actual = Values(state.variables["w"]);
    for (size_t i = 0; i < kSize; ++i) {
      v[i] = 0.8 * v[i] - 0.1 * ratio * (gradient[i] + twin.decay * w[i]);
      w[i] += v[i];
      EXPECT_NEAR(actual[i], w[i], 2e-5) << "step " << t << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LarsTwinTest,
    ::testing::Values(LarsTwin{"Corrected", LarsForm::kCorrected, 0,
                               [](double w, double g) {
                                 return 0.5 * w / (g + 1e-2);
                               }},
                      LarsTwin{"CorrectedDecay", LarsForm::kCorrected, 0.3,
                               [](double w, double g) {
                                 return 0.5 * w / (g + 0.3 * w + 1e-2);
                               }},
                      LarsTwin{"Lbsgd", LarsForm::kLbsgd, 0,
                               [](double w, double g) { return w / g; }},
                      LarsTwin{"LbsgdDecay", LarsForm::kLbsgd, 0.3,
                               [](double w, double g) {
                                 return w / std::sqrt(g * g + 0.3 * w * w);
                               }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace spillway
