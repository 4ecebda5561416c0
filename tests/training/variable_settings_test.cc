#include "training/variable_settings.h"

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/format/json_format.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::EvalGraph;
using testing::EvalState;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::MakeHostTensor;
using testing::StatusIs;

// Two dense layers in the scopes a and ab.
struct TwoLayers {
  Tensor x;
  Tensor loss;
};

TwoLayers AddTwoLayers(GraphBuilder& g) {
  const Tensor x = g.Placeholder("x", DType::kFloat32, {4, 3});
  const Tensor hidden = Dense(g.Scope("a"), x, {.units = 3});
  const Tensor y = Dense(g.Scope("ab"), hidden, {.units = 3});
  return {.x = x, .loss = MeanSquaredDistance(g, y, x)};
}

absl::StatusOr<Graph> TrainedBy(const Optimizer& optimizer,
                                const MinimizeOptions& options) {
  GraphBuilder g(StandardOps());
  const TwoLayers layers = AddTwoLayers(g);
  Minimize(g.Scope("sgd"), layers.loss, optimizer, options);
  return std::move(g).Build();
}

// The weight decay of the update of `variable`; -1 without an update.
double DecayOf(const Graph& graph, const std::string& variable,
               const std::string& attribute = "weight_decay") {
  for (const Node& node : graph.nodes()) {
    if (!node.name.starts_with("sgd/update/" + variable + "/")) continue;
    return node.attributes.GetReal(attribute, 0).value();
  }
  return -1;
}

TEST(VariableSettingsTest, TwoDimensionsDecayWithoutNames) {
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       TrainedBy(Sgd(), {.weight_decay = 0.5}));
  EXPECT_EQ(DecayOf(graph, "a/weights"), 0.5);
  EXPECT_EQ(DecayOf(graph, "a/biases"), 0);
}

TEST(VariableSettingsTest, NamesOfTheDecayRuleReplaceTheDimensions) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      TrainedBy(Sgd(), {.weight_decay = 0.5,
                        .decay_rule = {.names = {"scale", "biases"}}}));
  EXPECT_EQ(DecayOf(graph, "a/weights"), 0);
  EXPECT_EQ(DecayOf(graph, "a/biases"), 0.5);
}

TEST(VariableSettingsTest, TheDecoupledDecayFollowsTheSameRule) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      TrainedBy(AdamW{.weight_decay = 0.5},
                {.multipliers = {{.name = "ab", .decay = 0.5}}}));
  const std::string name = "decoupled_weight_decay";
  EXPECT_EQ(DecayOf(graph, "a/weights", name), 0.5);
  EXPECT_EQ(DecayOf(graph, "ab/weights", name), 0.25);
  EXPECT_EQ(DecayOf(graph, "ab/biases", name), 0);
}

TEST(VariableSettingsTest, NamesThatNoVariableHasAreAnError) {
  EXPECT_THAT(TrainedBy(Sgd(), {.decay_rule = {.names = {"weight", "gamma"}}}),
              StatusIs(kInvalid,
                       "sgd: no trainable variable has a name that "
                       "decay_rule lists: 'weight', 'gamma'"));
  for (const char* name : {"b", "a/weight", "", "x", "a/"}) {
    EXPECT_THAT(
        TrainedBy(Sgd(), {.multipliers = {{.name = name}}}),
        StatusIs(kInvalid, HasSubstr("sgd: there is no trainable variable '" +
                                     std::string(name) + "'")));
  }
}

TEST(VariableSettingsTest, MultipliersMustBeFiniteAndNotNegative) {
  for (const double bad : {-1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(
        TrainedBy(Sgd(), {.multipliers = {{.name = "a", .rate = bad}}}),
        StatusIs(kInvalid, HasSubstr("a multiplier of the rate of 'a' must")));
    EXPECT_THAT(
        TrainedBy(Sgd(), {.multipliers = {{.name = "a", .decay = bad}}}),
        StatusIs(kInvalid, HasSubstr("a multiplier of the decay of 'a' must")));
  }
}

TEST(VariableSettingsTest, AFrozenScopeHasNoUpdatesSlotsOrGradients) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      TrainedBy(Momentum(), {.multipliers = {{.name = "a", .rate = 0}}}));
  EXPECT_FALSE(graph.FindNode("sgd/update/a/weights/ApplyMomentum"));
  EXPECT_FALSE(graph.FindNode("sgd/slots/a/weights/momentum"));
  EXPECT_TRUE(graph.FindNode("sgd/update/ab/weights/ApplyMomentum"));
  for (const Node& node : graph.nodes()) {
    EXPECT_FALSE(node.name.starts_with("sgd/gradients/a/")) << node.name;
  }
}

TEST(VariableSettingsTest, AllFrozenIsNothingToTrain) {
  EXPECT_THAT(
      TrainedBy(Sgd(), {.multipliers = {{.name = "a", .rate = 0},
                                        {.name = "ab", .rate = 0}}}),
      StatusIs(kInvalid, HasSubstr("depends on no trainable variable")));
}

TEST(VariableSettingsTest, TheLastMultiplierOfAVariableApplies) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      TrainedBy(Sgd(), {.weight_decay = 0.5,
                        .multipliers = {{.name = "a", .rate = 0},
                                        {.name = "a/weights", .decay = 2},
                                        {.name = "ab", .decay = 0}}}));
  EXPECT_EQ(DecayOf(graph, "a/weights"), 1);
  EXPECT_EQ(DecayOf(graph, "a/biases"), -1);
  EXPECT_EQ(DecayOf(graph, "ab/weights"), 0);
}

TEST(VariableSettingsTest, MultipliersOfOneLeaveTheGraphAsItIs) {
  ASSERT_OK_AND_ASSIGN(const Graph plain, TrainedBy(Sgd(), {}));
  ASSERT_OK_AND_ASSIGN(const Graph same,
                       TrainedBy(Sgd(), {.multipliers = {{.name = "a"}}}));
  EXPECT_EQ(FormatGraph(plain), FormatGraph(same));
}

TEST(VariableSettingsTest, VariablesOfOneMultiplierShareTheirRate) {
  ASSERT_OK_AND_ASSIGN(
      const Graph graph,
      TrainedBy(Sgd(), {.multipliers = {{.name = "a", .rate = 0.5}}}));
  const auto rate_of = [&](const std::string& variable) {
    const Node& update = graph.node(
        *graph.FindNode("sgd/update/" + variable + "/ApplyGradientDescent"));
    return graph.producer(update.inputs.back()).name;
  };
  EXPECT_EQ(rate_of("a/weights"), "sgd/multiplied_rate");
  EXPECT_EQ(rate_of("a/biases"), "sgd/multiplied_rate");
  EXPECT_EQ(rate_of("ab/weights"), "sgd/learning_rate");
}

TEST(VariableSettingsTest, AMultiplierChangesTheStepOfItsVariableOnly) {
  std::vector<EvalState> states;
  for (const double multiplier : {1.0, 0.5}) {
    GraphBuilder g(StandardOps());
    const TwoLayers layers = AddTwoLayers(g);
    const Tensor rate = g.Placeholder("rate", DType::kFloat32, {});
    Minimize(g.Scope("sgd"), layers.loss, Sgd(),
             {.learning_rate_feed = rate,
              .multipliers = {{.name = "a/biases", .rate = multiplier}}});
    ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
    const std::map<ValueId, HostTensor> feeds = {
        {layers.x.id(),
         MakeHostTensor(layers.x.type(), std::vector<float>(12, 1))},
        {rate.id(), MakeHostTensor<float>(rate.type(), {0.25f})}};
    EvalState& state = states.emplace_back();
    ASSERT_THAT(EvalGraph(graph, feeds, {}, state), IsOk());
  }
  const float* whole = states[0].variables["a/biases"].data<float>();
  const float* half = states[1].variables["a/biases"].data<float>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(half[i], whole[i] / 2);
  EXPECT_NE(whole[0], 0);
  EXPECT_EQ(states[0].variables["a/weights"].bytes,
            states[1].variables["a/weights"].bytes);
}

}  // namespace
}  // namespace spillway
