#include "graph/passes/fuse_batch_norm_relu.h"

#include <string>
#include <utility>
#include <vector>

#include "graph/builder/gradient.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/graph_text.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::GraphText;

constexpr Pass kBatchNormReluPass = {"fuse", "", FuseBatchNormRelu};

class FuseBatchNormReluTest : public ::testing::Test {
 protected:
  Tensor Images(const char* name = "x") {
    return g_.Placeholder(name, DType::kFloat32, {4, 2, 2, 3});
  }

  // Adds a scalar that depends on `y`, and its gradients.
  Tensor Differentiate(Tensor y, const std::vector<Tensor>& xs) {
    const Tensor loss = MeanSquaredDistance(
        g_.Scope("loss"), y,
        g_.Placeholder("targets", DType::kFloat32, y.shape()));
    gradients_ = AddGradients(g_.Scope("gradients"), loss, xs);
    return loss;
  }

  // The relevant nodes after the pass.
  std::string Optimize(const std::vector<Tensor>& keep) {
    std::vector<ValueId> ids;
    for (const Tensor tensor : keep) ids.push_back(tensor.id());
    for (const Tensor tensor : gradients_) ids.push_back(tensor.id());
    const auto result = RunPasses(g_.graph(), g_.registry(),
                                  std::vector{kBatchNormReluPass}, ids);
    EXPECT_THAT(result, testing::IsOk());
    if (!result.ok()) return "";
    return GraphText(result->graph,
                     {"FusedBatchNorm", "FusedBatchNormGrad", "Relu",
                      "ReluGrad", "Relu6", "Relu6Grad", "Add", "AddN"});
  }

  GraphBuilder g_{StandardOps()};
  std::vector<Tensor> gradients_;
};

TEST_F(FuseBatchNormReluTest, ForwardOnly) {
  const Tensor y = Relu(g_.Scope("n"), BatchNorm(g_.Scope("n"), Images(), {}));
  EXPECT_EQ(Optimize({y}),
            "n/FusedBatchNorm = FusedBatchNorm(x, n/scale, n/offset, "
            "n/moving_mean, n/moving_variance) {activation=relu}\n");
}

TEST_F(FuseBatchNormReluTest, ForwardAndBackward) {
  const Tensor x = Images();
  const Tensor y = Relu(g_.Scope("n"), BatchNorm(g_.Scope("n"), x, {}));
  Differentiate(y, {x});
  EXPECT_EQ(
      Optimize({}),
      "n/FusedBatchNorm = FusedBatchNorm(x, n/scale, n/offset, n/moving_mean, "
      "n/moving_variance) {activation=relu}\n"
      "gradients/loss/Sub/AddN = AddN(gradients/loss/Mul/Mul, "
      "gradients/loss/Mul/Mul_1)\n"
      "gradients/n/FusedBatchNorm/FusedBatchNormGrad = FusedBatchNormGrad("
      "gradients/loss/Sub/AddN, x, n/scale, n/offset, n/FusedBatchNorm:1, "
      "n/FusedBatchNorm:2) {activation=relu}\n");
}

TEST_F(FuseBatchNormReluTest, Relu6ForwardAndBackward) {
  const Tensor x = Images();
  const Tensor y =
      BatchNorm(g_.Scope("n"), x, {.activation = Activation::kRelu6});
  Differentiate(y, {x});
  EXPECT_EQ(
      Optimize({}),
      "n/FusedBatchNorm = FusedBatchNorm(x, n/scale, n/offset, n/moving_mean, "
      "n/moving_variance) {activation=relu6}\n"
      "gradients/loss/Sub/AddN = AddN(gradients/loss/Mul/Mul, "
      "gradients/loss/Mul/Mul_1)\n"
      "gradients/n/FusedBatchNorm/FusedBatchNormGrad = FusedBatchNormGrad("
      "gradients/loss/Sub/AddN, x, n/scale, n/offset, n/FusedBatchNorm:1, "
      "n/FusedBatchNorm:2) {activation=relu6}\n");
}

TEST_F(FuseBatchNormReluTest, ASumBecomesTheSide) {
  const Tensor x = Images();
  const Tensor side = Images("side");
  const Tensor norm = BatchNorm(g_.Scope("n"), x, {});
  const Tensor y = Relu(g_.Scope("n"), Add(g_.Scope("n"), norm, side));
  Differentiate(y, {x, side});
  EXPECT_EQ(
      Optimize({}),
      "n/FusedBatchNorm = FusedBatchNorm(x, n/scale, n/offset, n/moving_mean, "
      "n/moving_variance, side) {activation=relu}\n"
      "gradients/loss/Sub/AddN = AddN(gradients/loss/Mul/Mul, "
      "gradients/loss/Mul/Mul_1)\n"
      "gradients/n/FusedBatchNorm/FusedBatchNormGrad = FusedBatchNormGrad("
      "gradients/loss/Sub/AddN, x, n/scale, n/offset, n/FusedBatchNorm:1, "
      "n/FusedBatchNorm:2, n/FusedBatchNorm) {activation=relu}\n");
}

TEST_F(FuseBatchNormReluTest, AValueThatOthersReadIsLeft) {
  const Tensor norm = BatchNorm(g_.Scope("n"), Images(), {});
  const Tensor y = Relu(g_.Scope("n"), norm);
  EXPECT_EQ(Optimize({y, norm}),
            GraphText(g_.graph(), {"FusedBatchNorm", "Relu"}));
  const Tensor sum = Add(g_.Scope("n"), norm, y);
  EXPECT_EQ(Optimize({sum}),
            GraphText(g_.graph(), {"FusedBatchNorm", "Relu", "Add"}));
}

TEST_F(FuseBatchNormReluTest, ASumThatIsRectifiedTwiceIsFusedOnce) {
  const Tensor norm = BatchNorm(g_.Scope("n"), Images(), {});
  const Tensor y = Relu(g_.Scope("b"), Relu(g_.Scope("a"), norm));
  EXPECT_EQ(Optimize({y}),
            "n/FusedBatchNorm = FusedBatchNorm(x, n/scale, n/offset, "
            "n/moving_mean, n/moving_variance) {activation=relu}\n"
            "b/Relu = Relu(n/FusedBatchNorm)\n");
}

TEST_F(FuseBatchNormReluTest, AControlEdgeThatWouldCloseACycleForbidsIt) {
  const Tensor norm = BatchNorm(g_.Scope("n"), Images(), {});
  const Tensor side = Relu(g_.Scope("side"), Images("z"));
  g_.AddControlEdge(norm, side);
  const Tensor y = Relu(g_.Scope("n"), Add(g_.Scope("n"), norm, side));
  EXPECT_EQ(Optimize({y}),
            GraphText(g_.graph(), {"FusedBatchNorm", "Relu", "Add"}));
}

}  // namespace
}  // namespace spillway
