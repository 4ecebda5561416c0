#include "graph/builder/gradient.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>

#include "tests/graph/scalar_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::IsOk;
using ::spillway::testing::ScalarOps;
using ::spillway::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kInternal;
using testing::kInvalid;

// Evaluates a graph of scalars by the definition of each op.
std::map<ValueId, double> Evaluate(const Graph& graph,
                                   const std::map<std::string, double>& feeds) {
  std::map<ValueId, double> results;
  for (const Node& node : graph.nodes()) {
    std::vector<double> x;
    for (const ValueId input : node.inputs) x.push_back(results.at(input));
    double& y = results[node.outputs[0]];
    if (node.op == "Placeholder") y = feeds.at(node.name);
    if (node.op == "Const") y = node.attributes.GetReal("value").value();
    if (node.op == "Identity" || node.op == "StopGradient") y = x[0];
    if (node.op == "Negate") y = -x[0];
    if (node.op == "Floor") y = std::floor(x[0]);
    if (node.op == "Mul") y = x[0] * x[1];
    if (node.op == "Add" || node.op == "AddN") {
      for (const double term : x) y += term;
    }
    if (node.op == "SinCos") {
      y = std::sin(x[0]);
      results[node.outputs[1]] = std::cos(x[0]);
    }
  }
  return results;
}

class GradientTest : public ::testing::Test {
 protected:
  Tensor Feed(std::string_view name) {
    return builder_.Placeholder(name, DType::kFloat32, {});
  }
  Tensor Add(std::string op, std::vector<Tensor> inputs,
             std::string name = "") {
    return builder_.Add(builder_, {.op = std::move(op),
                                   .inputs = std::move(inputs),
                                   .name = std::move(name)});
  }
  std::vector<Tensor> SinCos(Tensor x) {
    return builder_.AddAll(builder_, {.op = "SinCos", .inputs = {x}});
  }
  std::vector<Tensor> Gradients(Tensor loss, std::vector<Tensor> xs) {
    return AddGradients(builder_.Scope("grad"), loss, xs);
  }
  const Node& Producer(Tensor tensor) {
    return builder_.graph().producer(tensor.id());
  }
  std::vector<std::string> NewNames(size_t first) {
    std::vector<std::string> names;
    for (size_t i = first; i < builder_.graph().num_nodes(); ++i) {
      names.push_back(builder_.graph().node(NodeId(i)).name);
    }
    return names;
  }

  const OpRegistry registry_ = ScalarOps();
  GraphBuilder builder_{registry_};
};

TEST_F(GradientTest, AProductHasTheOtherFactorAsGradient) {
  const Tensor a = Feed("a");
  const Tensor b = Feed("b");
  const Tensor loss = Add("Mul", {a, b});
  const std::vector<Tensor> gradients = Gradients(loss, {a, b});
  ASSERT_THAT(builder_.status(), IsOk());
  const auto results = Evaluate(builder_.graph(), {{"a", 3}, {"b", 5}});
  EXPECT_EQ(results.at(gradients[0].id()), 5);
  EXPECT_EQ(results.at(gradients[1].id()), 3);
}

TEST_F(GradientTest, NodesAreNamedAfterTheForwardNode) {
  const Tensor a = Feed("a");
  const Tensor square = Add("Mul", {a, a}, "layer/square");
  const Tensor loss = Add("Negate", {square}, "loss");
  Gradients(loss, {a});
  ASSERT_THAT(builder_.status(), IsOk());
  EXPECT_THAT(NewNames(3),
              ElementsAre("grad/loss/Const", "grad/loss/Negate",
                          "grad/layer/square/Mul", "grad/layer/square/Mul_1",
                          "grad/a/AddN"));
}

TEST_F(GradientTest, ASingleGradientPassesThrough) {
  const Tensor a = Feed("a");
  const Tensor loss = Add("Identity", {Add("Identity", {a})});
  const std::vector<Tensor> gradients = Gradients(loss, {a});
  EXPECT_EQ(Producer(gradients[0]).op, "Const");
  EXPECT_EQ(builder_.graph().num_nodes(), 4);
}

TEST_F(GradientTest, SeveralGradientsAreSummedOnceInOrderOfUse) {
  const Tensor a = Feed("a");
  const Tensor first = Add("Negate", {a}, "first");
  const Tensor second = Add("Negate", {a}, "second");
  // Built and read in opposite orders.
  const Tensor loss = Add("AddN", {second, first, a}, "loss");
  const std::vector<Tensor> gradients = Gradients(loss, {a});
  ASSERT_THAT(builder_.status(), IsOk());
  const Node& sum = Producer(gradients[0]);
  EXPECT_EQ(sum.name, "grad/a/AddN");
  std::vector<std::string> terms;
  for (const ValueId input : sum.inputs) {
    terms.push_back(builder_.graph().producer(input).name);
  }
  EXPECT_THAT(terms, ElementsAre("grad/first/Negate", "grad/second/Negate",
                                 "grad/loss/Const"));
}

TEST_F(GradientTest, OnlyTheWayBetweenLossAndXIsWalked) {
  const Tensor a = Feed("a");
  const Tensor b = Feed("b");
  const Tensor off_path = Add("Floor", {Add("Negate", {b})});  // needs no x
  const Tensor loss = Add("Add", {Add("Negate", {a}), off_path});
  Add("Floor", {a});  // the loss does not depend on it
  Add("Mul", {loss, loss});
  const size_t before = builder_.graph().num_nodes();
  Gradients(loss, {a});
  ASSERT_THAT(builder_.status(), IsOk());
  EXPECT_THAT(NewNames(before),
              ElementsAre("grad/Add/Const", "grad/Negate_1/Negate"));
}

TEST_F(GradientTest, XMayBeInTheMiddle) {
  const Tensor a = Feed("a");
  const Tensor middle = Add("Floor", {a});
  const Tensor loss = Add("Mul", {middle, middle});
  const std::vector<Tensor> gradients = Gradients(loss, {middle, loss});
  ASSERT_THAT(builder_.status(), IsOk());
  const auto results = Evaluate(builder_.graph(), {{"a", 3.5}});
  EXPECT_EQ(results.at(gradients[0].id()), 6);
  EXPECT_EQ(results.at(gradients[1].id()), 1);
}

TEST_F(GradientTest, NoGradientWhereTheLossDoesNotDependOnX) {
  const Tensor a = Feed("a");
  const Tensor b = Feed("b");
  const Tensor loss = Add("Add", {a, Add("StopGradient", {b})});
  const Tensor later = Feed("later");
  const std::vector<Tensor> gradients = Gradients(loss, {b, a, later});
  ASSERT_THAT(builder_.status(), IsOk());
  EXPECT_FALSE(gradients[0].is_valid());
  EXPECT_TRUE(gradients[1].is_valid());
  EXPECT_FALSE(gradients[2].is_valid());
}

TEST_F(GradientTest, AnOutputThatNothingReadsHasNoGradient) {
  const Tensor a = Feed("a");
  const Tensor cosine = SinCos(a)[1];
  const std::vector<Tensor> gradients = Gradients(cosine, {a});
  ASSERT_THAT(builder_.status(), IsOk());
  const auto results = Evaluate(builder_.graph(), {{"a", 0.3}});
  EXPECT_DOUBLE_EQ(results.at(gradients[0].id()), -std::sin(0.3));
}

TEST_F(GradientTest, OpsThatAreNotDifferentiableAreNamedAtOnce) {
  const Tensor a = Feed("a");
  const Tensor first = Add("Floor", {Add("Negate", {a})}, "first");
  const Tensor second = Add("Floor", {a}, "second");
  Add("Floor", {a}, "aside");  // not on the way to the loss
  const Tensor loss = Add("Mul", {first, second});
  const std::vector<Tensor> gradients = Gradients(loss, {a, a});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("differentiated by: Floor (2, first "
                                           "second)")));
  EXPECT_EQ(gradients.size(), 2);
  EXPECT_FALSE(gradients[0].is_valid());
}

TEST_F(GradientTest, APlanOnlyNodeHasOneNodeForAllItsGradients) {
  const TensorType type = {.dtype = DType::kFloat32, .shape = Shape({2})};
  const TensorType number = {.dtype = DType::kFloat32, .shape = Shape()};
  const TensorType index = {.dtype = DType::kInt32, .shape = Shape({2})};
  const Tensor a = builder_.Placeholder("a", type.dtype, type.shape);
  const Tensor b = Feed("b");
  const Tensor places = builder_.Placeholder("i", index.dtype, index.shape);
  const std::vector<Tensor> outputs =
      builder_.AddAll(builder_, {.op = "Later",
                                 .inputs = {a, places, b},
                                 .outputs = std::vector{number, type}});
  ASSERT_THAT(builder_.status(), IsOk());
  const std::vector<Tensor> gradients =
      Gradients(Add("Negate", {outputs[0]}), {a, b});
  ASSERT_THAT(builder_.status(), IsOk());
  ASSERT_EQ(gradients.size(), 2);
  EXPECT_EQ(gradients[0].type(), type);
  EXPECT_EQ(gradients[1].type(), number);
  const Node& node = builder_.graph().producer(gradients[0].id());
  EXPECT_EQ(node.op, "LaterGrad");
  EXPECT_EQ(builder_.graph().producer(gradients[1].id()).id, node.id);
  // Inputs, outputs, and the gradient of the only output that has one.
  const ValueId dy = node.inputs.back();
  EXPECT_THAT(node.inputs, ElementsAre(a.id(), places.id(), b.id(),
                                       outputs[0].id(), outputs[1].id(), dy));
  EXPECT_EQ(builder_.graph().producer(dy).op, "Negate");
}

TEST_F(GradientTest, GradientsOfTheWrongTypeAreCaught) {
  const Tensor a = Feed("a");
  Gradients(Add("BadGradient", {a}, "bad"), {a});
  EXPECT_THAT(builder_.status(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("bad: BadGradient makes a gradient of type "
                                 "float32[2, 3] for input 0, which is "
                                 "float32[]")));
}

// The error of differentiating an op with the gradient function `gradient`.
absl::Status ErrorOf(
    std::function<absl::StatusOr<std::vector<Tensor>>(GradientContext&)>
        gradient) {
  OpRegistry registry = ScalarOps();
  OpDef def = *registry.Find("Negate");
  def.name = "Own";
  def.gradient = std::move(gradient);
  registry.Add(std::move(def));
  GraphBuilder g(registry);
  const Tensor x = g.Placeholder("x", DType::kFloat32, {});
  const Tensor y = g.Add(g.Scope("s"), {.op = "Own", .inputs = {x}});
  EXPECT_FALSE(AddGradients(g.Scope("grad"), y, {{x}})[0].is_valid());
  return std::move(g).Build().status();
}

TEST(GradientErrorsTest, BadGradientFunctionsAreErrorsThatNameTheOp) {
  using Gradients = absl::StatusOr<std::vector<Tensor>>;
  EXPECT_THAT(ErrorOf([](GradientContext&) { return std::vector<Tensor>(); }),
              StatusIs(kInternal, "s/Own: Own has 1 input and 0 gradients"));
  EXPECT_THAT(ErrorOf([](GradientContext&) -> Gradients {
                throw std::runtime_error("no idea");
              }),
              StatusIs(kInternal, "s/Own: the gradient of Own threw: no idea"));
  EXPECT_THAT(ErrorOf([](GradientContext&) -> Gradients { throw 7; }),
              StatusIs(kInternal, "s/Own: the gradient of Own threw"));
  for (const int index : {-1, 1, 99}) {
    EXPECT_THAT(
        ErrorOf([&](GradientContext& grad) {
          return std::vector<Tensor>{grad.x(index)};
        }),
        StatusIs(kInternal,
                 fmt::format("s/Own: the gradient of Own asks for input {} of "
                             "1",
                             index)));
    EXPECT_THAT(ErrorOf([&](GradientContext& grad) {
                  return std::vector<Tensor>{grad.dy(index)};
                }),
                StatusIs(kInternal, HasSubstr("asks for output")));
  }
  const OpRegistry registry = ScalarOps();
  GraphBuilder other(registry);
  const Tensor foreign = other.Placeholder("x", DType::kFloat32, {});
  EXPECT_THAT(ErrorOf([&](GradientContext&) { return std::vector{foreign}; }),
              StatusIs(kInternal, HasSubstr("another GraphBuilder")));
}

TEST_F(GradientTest, TheLossMustBeAScalarOfThisGraph) {
  const Tensor a = builder_.Placeholder("a", DType::kFloat32, {2});
  Gradients(a, {a});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("a:0: a loss must be a float32 "
                                           "scalar, not float32[2]")));
  GraphBuilder other(registry_);
  const Tensor b = other.Placeholder("b", DType::kFloat32, {});
  AddGradients(other, Tensor(), std::vector<Tensor>{b});
  EXPECT_THAT(other.status(), StatusIs(kInvalid, HasSubstr("the loss is not")));
  GraphBuilder third(registry_);
  const Tensor c = third.Placeholder("c", DType::kFloat32, {});
  AddGradients(third, c, std::vector<Tensor>{c, b});
  EXPECT_THAT(third.status(),
              StatusIs(kInvalid, HasSubstr("tensor 1 to differentiate by")));
}

TEST_F(GradientTest, AfterAnErrorNothingHappens) {
  const Tensor a = Feed("a");
  builder_.Fail(absl::InternalError("earlier"));
  EXPECT_EQ(Gradients(a, {a}).size(), 1);
  EXPECT_EQ(builder_.graph().num_nodes(), 1);
  EXPECT_EQ(builder_.status().message(), "earlier");
}

// Compares random expressions of three feeds, the last of which is the loss,
// with central differences.
TEST(GradientOfRandomGraphsTest, EqualsFiniteDifferences) {
  const OpRegistry registry = ScalarOps();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    GraphBuilder builder(registry);
    std::map<std::string, double> feeds = {{"a", .3}, {"b", -.6}, {"c", .9}};
    std::vector<Tensor> xs;
    for (const auto& [name, value] : feeds) {
      xs.push_back(builder.Placeholder(name, DType::kFloat32, {}));
    }
    std::vector<Tensor> tensors = xs;
    const char* ops[] = {"Mul", "Add", "AddN", "SinCos", "Negate", "Identity"};
    for (int i = 0; i < 12; ++i) {
      const std::string op = ops[random() % std::size(ops)];
      const size_t num_inputs = op == "Mul" || op == "Add" ? 2
                                : op == "AddN"             ? 1 + random() % 3
                                                           : 1;
      std::vector<Tensor> inputs;
      for (size_t slot = 0; slot < num_inputs; ++slot) {
        // Mostly recent tensors, so that the loss depends on most nodes.
        const size_t back = 1 + random() % std::min<size_t>(tensors.size(), 5);
        inputs.push_back(tensors[tensors.size() - back]);
      }
      for (const Tensor y : builder.AddAll(builder, {op, inputs})) {
        tensors.push_back(y);
      }
    }
    const Tensor loss = tensors.back();
    const std::vector<Tensor> gradients =
        AddGradients(builder.Scope("grad"), loss, xs);
    ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(builder).Build());

    const auto results = Evaluate(graph, feeds);
    size_t i = 0;
    for (auto& [name, value] : feeds) {
      constexpr double kStep = 1e-5;
      const double center = value;
      value = center + kStep;
      const double above = Evaluate(graph, feeds).at(loss.id());
      value = center - kStep;
      const double below = Evaluate(graph, feeds).at(loss.id());
      value = center;
      const double expected = (above - below) / (2 * kStep);
      const double actual =
          gradients[i].is_valid() ? results.at(gradients[i].id()) : 0.0;
      EXPECT_NEAR(actual, expected, 1e-6 * (1 + std::abs(expected))) << name;
      ++i;
    }
  }
}

}  // namespace
}  // namespace spillway
