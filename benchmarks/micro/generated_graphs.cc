#include "benchmarks/micro/generated_graphs.h"

#include <utility>

#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "models/layers/layers.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

absl::StatusOr<Graph> TrainingGraph(Topology topology, int64_t blocks,
                                    int64_t image_size) {
  GraphBuilder g(StandardOps());
  const Tensor images =
      g.Placeholder("images", DType::kFloat32, {1, image_size, image_size, 2});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {1});
  Tensor x = images;
  for (int64_t i = 0; i < blocks; ++i) {
    const NameScope scope = g.Scope(fmt::format("block{}", i));
    const Tensor y = Conv2D(
        scope, x,
        {.filters = 2, .kernel = {3, 3}, .activation = Activation::kRelu});
    x = topology == Topology::kResidual ? Add(scope, x, y) : y;
  }
  const Tensor logits =
      Dense(g.Scope("logits"), Flatten(g.Scope("logits"), x), {.units = 2});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("optimizer"), loss, Sgd{});
  return std::move(g).Build();
}

}  // namespace

std::string Name(Topology topology) {
  return topology == Topology::kChain ? "chain" : "residual";
}

Graph GraphOfSize(Topology topology, int64_t nodes, int64_t image_size) {
  constexpr int64_t kProbe = 16;
  const auto size = [&](int64_t blocks) {
    return static_cast<int64_t>(
        TrainingGraph(topology, blocks, image_size).value().num_nodes());
  };
  const int64_t a_block = (size(2 * kProbe) - size(kProbe)) / kProbe;
  return TrainingGraph(topology, nodes / a_block + 1, image_size).value();
}

Graph NetworkGraph(const std::string& model, int64_t batch_size) {
  GraphBuilder g(StandardOps(), model);
  const ModelGraph network =
      BuildModel(g, model, {.batch_size = batch_size}).value();
  Minimize(g.Scope("optimizer"), network.loss, Momentum{});
  return std::move(g).Build().value();
}

LmsOptions SwapAll(LmsMode mode) {
  LmsOptions options = {.mode = mode};
  if (mode == LmsMode::kV2) {
    options.v2.swapout_threshold = 1;
    options.v2.swapin_ahead = 2;
    options.v2.swapin_groupby = 0;
  }
  return options;
}

}  // namespace spillway
