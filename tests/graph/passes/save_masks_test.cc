#include "graph/passes/save_masks.h"

#include <set>
#include <string>
#include <vector>

#include "graph/builder/gradient.h"
#include "graph/passes/standard_passes.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/graph_text.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::GraphText;

constexpr Pass kSaveMasks = {"save_masks", "", SaveMasks};

class SaveMasksTest : public ::testing::Test {
 protected:
  Tensor Images(const char* name, int64_t channels,
                DType dtype = DType::kFloat32) {
    return g_.Placeholder(name, dtype, {4, 8, 8, channels});
  }

  // Adds a scalar that depends on `y`, and its gradients.
  void Differentiate(Tensor y, const std::vector<Tensor>& xs) {
    const Tensor loss = MeanSquaredDistance(
        g_.Scope("loss"), y,
        g_.Placeholder("targets", DType::kFloat32, y.shape()));
    gradients_ = AddGradients(g_.Scope("gradients"), loss, xs);
  }

  // relu(batch norm(x) + side).
  Tensor NormWithSide(Tensor x, Tensor side) {
    const Tensor norm = BatchNorm(g_.Scope("n"), x, {});
    return Relu(g_.Scope("n"), Add(g_.Scope("n"), norm, side));
  }

  Tensor Pool(Tensor x, int64_t window, int64_t stride) {
    return MaxPool(g_.Scope("p"), x,
                   {.window = {window, window}, .strides = {stride, stride}});
  }

  // The nodes of `ops` after fuse_batch_norm_relu and the pass.
  std::string Optimize(const std::set<std::string>& ops) {
    std::vector<ValueId> keep;
    for (const Tensor tensor : gradients_) keep.push_back(tensor.id());
    auto passes = SelectPasses("fuse_batch_norm_relu", PassTarget::kCpu);
    EXPECT_THAT(passes, testing::IsOk());
    passes->push_back(kSaveMasks);
    const auto result = RunPasses(g_.graph(), g_.registry(), *passes, keep);
    EXPECT_THAT(result, testing::IsOk());
    return result.ok() ? GraphText(result->graph, ops) : "";
  }

  std::string OptimizePool() { return Optimize({"MaxPool", "MaxPoolGrad"}); }

  GraphBuilder g_{StandardOps()};
  std::vector<Tensor> gradients_;
};

TEST_F(SaveMasksTest, TheGradientOfANormWithASideReadsItsMask) {
  const Tensor x = Images("x", 16);
  const Tensor side = Images("side", 16);
  Differentiate(NormWithSide(x, side), {x, side});
  EXPECT_EQ(
      Optimize({"FusedBatchNorm", "FusedBatchNormGrad"}),
      "n/FusedBatchNorm = FusedBatchNorm(x, n/scale, n/offset, n/moving_mean, "
      "n/moving_variance, side) {activation=relu}\n"
      "gradients/n/FusedBatchNorm/FusedBatchNormGrad = FusedBatchNormGrad("
      "gradients/loss/Sub/AddN, x, n/scale, n/offset, n/FusedBatchNorm:1, "
      "n/FusedBatchNorm:2, n/FusedBatchNorm:3) {activation=relu}\n");
}

TEST_F(SaveMasksTest, ANormOfFewChannelsHasNoMask) {
  const Tensor x = Images("x", 12);
  const Tensor side = Images("side", 12);
  Differentiate(NormWithSide(x, side), {x, side});
  EXPECT_EQ(Optimize({"FusedBatchNorm", "FusedBatchNormGrad"}).find(":3"),
            std::string::npos);
}

TEST_F(SaveMasksTest, WithoutABackwardPhaseNothingIsSaved) {
  gradients_ = {NormWithSide(Images("x", 16), Images("side", 16)),
                Pool(Images("z", 16), 2, 2)};
  EXPECT_EQ(Optimize({"FusedBatchNorm", "MaxPool"}),
            "n/FusedBatchNorm = FusedBatchNorm(x, n/scale, n/offset, "
            "n/moving_mean, n/moving_variance, side) {activation=relu}\n"
            "p/MaxPool = MaxPool(z)\n");
}

TEST_F(SaveMasksTest, TheGradientOfAPoolReadsPlaces) {
  const Tensor x = Images("x", 3);
  Differentiate(Pool(x, 3, 2), {x});
  EXPECT_EQ(OptimizePool(),
            "p/MaxPool = MaxPool(x)\n"
            "gradients/p/MaxPool/MaxPoolGrad = "
            "MaxPoolGrad(p/MaxPool:1, gradients/loss/Sub/AddN)\n");
}

TEST_F(SaveMasksTest, OtherPoolsOfATensorHaveOtherPlaces) {
  const Tensor x = Images("x", 4);
  const Tensor p = Pool(x, 2, 2);
  const Tensor q =
      MaxPool(g_.Scope("q"), x,
              {.window = {3, 3}, .strides = {2, 2}, .padding = "SAME"});
  Differentiate(Add(g_.Scope("sum"), p, q), {x});
  EXPECT_EQ(OptimizePool(),
            "p/MaxPool = MaxPool(x)\n"
            "q/MaxPool = MaxPool(x)\n"
            "gradients/q/MaxPool/MaxPoolGrad = "
            "MaxPoolGrad(q/MaxPool:1, gradients/loss/Sub/AddN)\n"
            "gradients/p/MaxPool/MaxPoolGrad = "
            "MaxPoolGrad(p/MaxPool:1, gradients/loss/Sub/AddN)\n");
}

TEST_F(SaveMasksTest, EqualPoolsShareTheirPlaces) {
  const Tensor x = Images("x", 4);
  const Tensor first = Pool(x, 2, 2);
  Differentiate(Add(g_.Scope("sum"), first, Pool(x, 2, 2)), {x});
  EXPECT_EQ(OptimizePool(),
            "p/MaxPool = MaxPool(x)\n"
            "p/MaxPool_1 = MaxPool(x)\n"
            "gradients/p/MaxPool_1/MaxPoolGrad = "
            "MaxPoolGrad(p/MaxPool:1, gradients/loss/Sub/AddN)\n"
            "gradients/p/MaxPool/MaxPoolGrad = "
            "MaxPoolGrad(p/MaxPool:1, gradients/loss/Sub/AddN)\n");
}

// Stride 1: a byte for each of x's floats would cost more than it saves.
TEST_F(SaveMasksTest, ManyPlacesAreNotSaved) {
  const Tensor x = Images("x", 4);
  Differentiate(Pool(x, 3, 1), {x});
  EXPECT_EQ(OptimizePool(),
            "p/MaxPool = MaxPool(x)\n"
            "gradients/p/MaxPool/MaxPoolGrad = "
            "MaxPoolGrad(x, gradients/loss/Sub/AddN)\n");
}

}  // namespace
}  // namespace spillway
