#include "tests/support/random_network.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/builder.h"
#include "models/layers/blocks.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "ops/cpu/lanes.h"
#include "training/optimizer.h"

namespace spillway::testing {
namespace {

class NetworkMaker {
 public:
  NetworkMaker(uint64_t seed, std::optional<DType> activations)
      : random_(seed), activations_(activations), g_(StandardOps()) {}

  absl::StatusOr<RandomNetwork> Make() {
    RandomNetwork network = {.num_classes = Pick(2, 10)};
    const int64_t batch = Pick(1, 4);
    const int64_t size = Pick(6, 16);
    const Tensor images = g_.Placeholder("images", DType::kFloat32,
                                         {batch, size, size, Pick(1, 3)});
    const Tensor labels = g_.Placeholder("labels", DType::kInt32, {batch});
    const bool is_narrow = Chance(0.3);  // drawn even on CPUs without bfloat16
    const DType dtype =
        is_narrow && HasAvx512() ? DType::kBFloat16 : DType::kFloat32;
    Tensor x = CastTo(g_.Scope("cast"), images, activations_.value_or(dtype));
    const int64_t blocks = Pick(2, 10);
    for (int64_t i = 0; i < blocks; ++i) {
      x = Block(g_.Scope("block" + std::to_string(i)), x);
    }
    x = Head(x, network.num_classes);
    const Tensor loss = SparseSoftmaxCrossEntropy(g_.Scope("loss"), x, labels);
    network.loss = loss.id();
    Minimize(g_.Scope("optimizer"), loss, PickOptimizer());
    SPILLWAY_ASSIGN_OR_RETURN(network.graph, std::move(g_).Build());
    return network;
  }

 private:
  int64_t Pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  bool Chance(double probability) {
    return std::bernoulli_distribution(probability)(random_);
  }

  Activation PickActivation() {
    constexpr Activation kAll[] = {Activation::kNone, Activation::kRelu,
                                   Activation::kRelu, Activation::kElu,
                                   Activation::kTanh};
    return kAll[Pick(0, 4)];
  }

  Optimizer PickOptimizer() {
    switch (Pick(0, 3)) {
      case 0:
        return Sgd{.learning_rate = 0.01};
      case 1:
        return Momentum{.learning_rate = 0.01};
      case 2:
        return Adam{};
      default:
        return RmsProp{};
    }
  }

  Conv2DOptions PickConv(int64_t stride) {
    const int64_t kernel = Chance(0.5) ? 3 : 1;
    return {.filters = Pick(2, 12),
            .kernel = {kernel, kernel},
            .strides = {stride, stride},
            .use_bias = Chance(0.5),
            .activation = PickActivation()};
  }

  Tensor Block(const NameScope& scope, Tensor x) {
    const bool is_small = !x.is_valid() || x.shape().dim(1) < 4;
    switch (Pick(is_small ? 2 : 0, 7)) {
      case 0:
        return Pool(scope, x);
      case 1:
        return Conv2D(scope, x, PickConv(2));
      case 2:
      case 3:
        return Conv2D(scope, x, PickConv(1));
      case 4:
        return Residual(scope, x);
      case 5:
        return Branches(scope, x);
      case 6:
        return Dropout(scope, x, {.rate = 0.3});
      default:
        return Normalise(scope, x);
    }
  }

  Tensor Pool(const NameScope& scope, Tensor x) {
    const PoolOptions options = {.window = {3, 3}, .padding = "SAME"};
    switch (Pick(0, 2)) {
      case 0:
        return MaxPool(scope, x, options);
      case 1:
        return AvgPool(scope, x, options);
      default:
        return MaxPoolRelu(scope, x, options);
    }
  }

  Tensor Normalise(const NameScope& scope, Tensor x) {
    if (Chance(0.3) && x.type().dtype != DType::kBFloat16) {
      return Lrn(scope, x, {.depth_radius = 2, .alpha = 1e-3});
    }
    return BatchNorm(scope, x, {.activation = Activation::kRelu});
  }

  Tensor Residual(const NameScope& scope, Tensor x) {
    const Conv2DOptions conv = ResNetConv(x.shape().dim(-1), 3);
    BatchNormOptions sum = ResNetNorm(true, Activation::kRelu);
    sum.side = x;
    const Tensor y = ConvNorm(scope.Scope("conv1"), x, conv,
                              ResNetNorm(true, Activation::kRelu));
    return ConvNorm(scope.Scope("conv2"), y, conv, sum);
  }

  Tensor Branches(const NameScope& scope, Tensor x) {
    std::vector<Tensor> branches;
    const int64_t count = Pick(2, 3);
    for (int64_t i = 0; i < count; ++i) {
      const NameScope branch = scope.Scope("branch" + std::to_string(i));
      branches.push_back(Conv2D(branch, x, PickConv(1)));
    }
    return ConcatChannels(scope, std::move(branches));
  }

  Tensor Head(Tensor x, int64_t num_classes) {
    const NameScope head = g_.Scope("head");
    x = Chance(0.5) ? GlobalAveragePool(head, x) : Flatten(head, x);
    if (Chance(0.4)) {
      x = Dense(g_.Scope("hidden"), x,
                {.units = Pick(4, 32), .activation = Activation::kRelu});
    }
    x = Dense(g_.Scope("logits"), x, {.units = num_classes});
    return CastTo(g_.Scope("uncast"), x, DType::kFloat32);
  }

  std::mt19937_64 random_;
  const std::optional<DType> activations_;
  GraphBuilder g_;
};

}  // namespace

absl::StatusOr<RandomNetwork> MakeRandomNetwork(
    uint64_t seed, std::optional<DType> activations) {
  return NetworkMaker(seed, activations).Make();
}

}  // namespace spillway::testing
