#include "graph/passes/fuse_matmul_bias.h"

#include <string>
#include <vector>

#include "graph/passes/fuse_bias_relu.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/graph_text.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::GraphText;

constexpr Pass kMatMulBiasPass = {"fuse", "", FuseMatMulBias};
constexpr Pass kReluFirst = {"relu", "", FuseBiasRelu};

class FuseMatMulBiasTest : public ::testing::Test {
 protected:
  Tensor Hidden(Activation activation) {
    return Dense(g_.Scope("fc"), g_.Placeholder("x", DType::kFloat32, {4, 3}),
                 {.units = 2, .activation = activation});
  }

  std::string Optimize(const std::vector<ValueId>& keep,
                       const std::vector<Pass>& passes = {kMatMulBiasPass}) {
    const auto result = RunPasses(g_.graph(), g_.registry(), passes, keep);
    EXPECT_THAT(result, testing::IsOk());
    return result.ok() ? GraphText(result->graph, kOps) : "";
  }

  const std::set<std::string> kOps = {"MatMul", "BiasAdd", "Relu", "Tanh"};
  GraphBuilder g_{StandardOps()};
};

TEST_F(FuseMatMulBiasTest, TheSumIsTheProducts) {
  const Tensor y = Hidden(Activation::kTanh);
  EXPECT_EQ(Optimize({y.id()}),
            "fc/MatMul = MatMul(x, fc/weights, fc/biases)\n"
            "fc/Tanh = Tanh(fc/MatMul)\n");
}

TEST_F(FuseMatMulBiasTest, TheActivationGoesAlong) {
  const Tensor y = Hidden(Activation::kRelu);
  EXPECT_EQ(Optimize({y.id()}, {kReluFirst, kMatMulBiasPass}),
            "fc/MatMul = MatMul(x, fc/weights, fc/biases) "
            "{activation=relu}\n");
}

TEST_F(FuseMatMulBiasTest, TheBackwardPhaseStays) {
  const Tensor y = Hidden(Activation::kNone);
  const Tensor loss = SparseSoftmaxCrossEntropy(
      g_.Scope("loss"), y, g_.Placeholder("labels", DType::kInt32, {4}));
  Minimize(g_.Scope("sgd"), loss, Sgd());
  EXPECT_EQ(Optimize({loss.id()}),
            "fc/MatMul = MatMul(x, fc/weights, fc/biases)\n"
            "sgd/gradients/fc/MatMul/MatMul = MatMul(x, sgd/gradients/loss/"
            "SparseSoftmaxCrossEntropyWithLogits/ScaleRows)\n");
}

TEST_F(FuseMatMulBiasTest, AProductThatIsKeptIsLeft) {
  const Tensor y = Hidden(Activation::kNone);
  const ValueId product = g_.graph().producer(y.id()).inputs[0];
  EXPECT_EQ(Optimize({y.id(), product}), GraphText(g_.graph(), kOps));
}

TEST_F(FuseMatMulBiasTest, AProductWithAnotherReaderIsLeft) {
  const Tensor y = Hidden(Activation::kNone);
  const ValueId product = g_.graph().producer(y.id()).inputs[0];
  const Tensor other = Relu(g_.Scope("other"), Tensor(&g_, product));
  EXPECT_EQ(Optimize({y.id(), other.id()}), GraphText(g_.graph(), kOps));
}

}  // namespace
}  // namespace spillway
