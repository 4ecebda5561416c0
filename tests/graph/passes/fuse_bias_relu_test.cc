#include "graph/passes/fuse_bias_relu.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/graph_text.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::GraphText;

constexpr Pass kBiasReluPass = {"fuse", "", FuseBiasRelu};

class FuseBiasReluTest : public ::testing::Test {
 protected:
  Tensor Hidden() {
    return Dense(g_.Scope("fc"), g_.Placeholder("x", DType::kFloat32, {4, 3}),
                 {.units = 2, .activation = Activation::kRelu});
  }

  std::string Optimize(const std::vector<ValueId>& keep) {
    const auto result =
        RunPasses(g_.graph(), g_.registry(), std::vector{kBiasReluPass}, keep);
    EXPECT_THAT(result, testing::IsOk());
    return result.ok() ? GraphText(result->graph, kOps) : "";
  }

  const std::set<std::string> kOps = {"BiasAdd", "BiasAddGrad", "Relu",
                                      "ReluGrad"};
  GraphBuilder g_{StandardOps()};
};

TEST_F(FuseBiasReluTest, TheBackwardPhaseStays) {
  const Tensor y = Hidden();
  const Tensor loss = SparseSoftmaxCrossEntropy(
      g_.Scope("loss"), y, g_.Placeholder("labels", DType::kInt32, {4}));
  Minimize(g_.Scope("sgd"), loss, Sgd());
  EXPECT_EQ(Optimize({loss.id()}),
            "fc/BiasAdd = BiasAdd(fc/MatMul, fc/biases) {activation=relu}\n"
            "sgd/gradients/fc/Relu/ReluGrad = ReluGrad(sgd/gradients/loss/"
            "SparseSoftmaxCrossEntropyWithLogits/ScaleRows, fc/BiasAdd)\n"
            "sgd/gradients/fc/BiasAdd/BiasAddGrad = BiasAddGrad("
            "sgd/gradients/fc/Relu/ReluGrad)\n");
}

TEST_F(FuseBiasReluTest, AValueThatIsKeptIsLeft) {
  const Tensor y = Hidden();
  const ValueId sum = g_.graph().producer(y.id()).inputs[0];
  EXPECT_EQ(Optimize({y.id(), sum}), GraphText(g_.graph(), kOps));
}

}  // namespace
}  // namespace spillway
