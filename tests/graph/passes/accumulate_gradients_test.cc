#include "graph/passes/accumulate_gradients.h"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/builder/gradient.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/graph_text.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::GraphText;
using ::testing::HasSubstr;

constexpr Pass kAccumulate = {"accumulate_gradients", "", AccumulateGradients};

// Branches that read x, of 8 channels, and whose sum the loss depends on.
class AccumulateGradientsTest : public ::testing::Test {
 protected:
  Tensor Conv(const char* name, Conv2DOptions options = {.filters = 8}) {
    options.use_bias = false;
    return Conv2D(g_.Scope(name), x_, options);
  }
  Tensor Bounded(const char* name) {
    return Activate(g_.Scope(name), x_, Activation::kTanh);
  }

  // A loss that depends on each.
  Tensor LossOf(const std::vector<Tensor>& branches) {
    Tensor loss = MeanOf(branches[0]);
    for (size_t i = 1; i < branches.size(); ++i) {
      loss = Add(g_.Scope("loss"), loss, MeanOf(branches[i]));
    }
    return loss;
  }
  Tensor MeanOf(Tensor branch) {
    return MeanSquaredDistance(
        g_.Scope("loss"), branch,
        g_.Placeholder(fmt::format("target{}", g_.graph().num_nodes()),
                       DType::kFloat32, branch.shape()));
  }

  // Adds the gradient of x. The gradients of branches are computed from the
  // last to the first, and summed from the first to the last.
  void Differentiate(const std::vector<Tensor>& branches) {
    keep_.push_back(
        AddGradients(g_.Scope("g"), LossOf(branches), std::vector{x_})[0].id());
  }

  // The input gradients of convolutions, and the sum of gradients of x.
  std::string Optimize() { return Optimize(g_.graph()); }
  std::string Optimize(const Graph& graph) {
    const auto result =
        RunPasses(graph, g_.registry(), std::vector{kAccumulate}, keep_);
    EXPECT_THAT(result, testing::IsOk());
    if (!result.ok()) return "";
    std::istringstream all(
        GraphText(result->graph, {"Conv2DBackpropInput", "AddN"}));
    std::string nodes;
    for (std::string line; std::getline(all, line);) {
      if (line.starts_with("g/x/AddN") ||
          line.find("BackpropInput(") != std::string::npos) {
        nodes += line + "\n";
      }
    }
    return nodes;
  }
  std::string Optimize(const std::vector<Tensor>& branches) {
    Differentiate(branches);
    return Optimize();
  }

  GraphBuilder g_{StandardOps()};
  Tensor x_ = g_.Placeholder("x", DType::kFloat32, {2, 4, 4, 8});
  std::vector<ValueId> keep_;
};

TEST_F(AccumulateGradientsTest, AConvolutionAddsToTheOtherTerm) {
  EXPECT_EQ(Optimize({Conv("a"), Bounded("b")}),
            "g/a/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(a/weights, "
            "g/loss/Sub/AddN, g/b/Tanh/TanhGrad)\n");
}

TEST_F(AccumulateGradientsTest, AConvolutionWaitsForALaterTerm) {
  EXPECT_EQ(Optimize({Bounded("b"), Conv("a")}),
            "g/a/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(a/weights, "
            "g/loss/Sub_1/AddN, g/b/Tanh/TanhGrad)\n");
}

TEST_F(AccumulateGradientsTest, ConvolutionsAddToEachOther) {
  EXPECT_EQ(Optimize({Conv("a"), Conv("b"), Conv("c")}),
            "g/c/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(c/weights, "
            "g/loss/Sub_2/AddN)\n"
            "g/b/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(b/weights, "
            "g/loss/Sub_1/AddN, g/c/Conv2D/Conv2DBackpropInput)\n"
            "g/a/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(a/weights, "
            "g/loss/Sub/AddN, g/b/Conv2D/Conv2DBackpropInput)\n");
}

TEST_F(AccumulateGradientsTest, TheOtherTermsAreSummedFirst) {
  EXPECT_EQ(Optimize({Conv("a"), Bounded("b"), Conv("c"), Bounded("d")}),
            "g/c/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(c/weights, "
            "g/loss/Sub_2/AddN, g/x/AddN)\n"
            "g/a/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(a/weights, "
            "g/loss/Sub/AddN, g/c/Conv2D/Conv2DBackpropInput)\n"
            "g/x/AddN = AddN(g/b/Tanh/TanhGrad, g/d/Tanh/TanhGrad)\n");
}

// A dy of 16 channels would be held longer to save a dx of 8.
TEST_F(AccumulateGradientsTest, ALargeGradientDoesNotWait) {
  EXPECT_EQ(Optimize({Bounded("b"), Conv("wide", {.filters = 16})}),
            "g/wide/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput("
            "wide/weights, g/loss/Sub_1/AddN)\n"
            "g/x/AddN = AddN(g/b/Tanh/TanhGrad, "
            "g/wide/Conv2D/Conv2DBackpropInput)\n");
}

TEST_F(AccumulateGradientsTest, ALargeGradientThatNeedNotWaitAdds) {
  EXPECT_EQ(Optimize({Conv("wide", {.filters = 16}), Bounded("b")}),
            "g/wide/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput("
            "wide/weights, g/loss/Sub/AddN, g/b/Tanh/TanhGrad)\n");
}

TEST_F(AccumulateGradientsTest, OtherWindowsAndStridesStay) {
  EXPECT_EQ(Optimize({Conv("a", {.filters = 8, .kernel = {3, 3}}),
                      Conv("b", {.filters = 8, .strides = {2, 2}})}),
            "g/b/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(b/weights, "
            "g/loss/Sub_1/AddN)\n"
            "g/a/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput(a/weights, "
            "g/loss/Sub/AddN)\n"
            "g/x/AddN = AddN(g/a/Conv2D/Conv2DBackpropInput, "
            "g/b/Conv2D/Conv2DBackpropInput)\n");
}

TEST_F(AccumulateGradientsTest, AFetchedTermStays) {
  Differentiate({Conv("a"), Bounded("b")});
  const Graph& graph = g_.graph();
  const Node& sum = graph.producer(keep_[0]);
  keep_.push_back(sum.inputs[0]);  // of the convolution
  EXPECT_THAT(Optimize(), HasSubstr("g/x/AddN = AddN("));
}

// Here the other term can only be computed after the convolution's.
TEST_F(AccumulateGradientsTest, ATermThatAnotherOneWaitsForStays) {
  Differentiate({Bounded("b"), Conv("a")});
  Graph graph = g_.graph();
  const Node& sum = graph.producer(keep_[0]);
  graph.AddControlEdge(graph.value(sum.inputs[1]).producer,
                       graph.value(sum.inputs[0]).producer);
  EXPECT_THAT(Optimize(graph), HasSubstr("g/x/AddN = AddN("));
}

// The update of a filter waits for the gradient that reads it.
TEST_F(AccumulateGradientsTest, UpdatesMayWait) {
  x_ = Conv("first");
  const Tensor loss = LossOf({Conv("a"), Bounded("b")});
  Minimize(g_.Scope("sgd"), loss, Sgd());
  keep_ = {loss.id()};
  EXPECT_EQ(Optimize(),
            "sgd/gradients/a/Conv2D/Conv2DBackpropInput = Conv2DBackpropInput("
            "a/weights, sgd/gradients/loss/Sub/AddN, "
            "sgd/gradients/b/Tanh/TanhGrad)\n");
}

}  // namespace
}  // namespace spillway
