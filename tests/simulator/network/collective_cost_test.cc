#include "simulator/network/collective_cost.h"

#include "graph/builder/builder.h"
#include "ops/all_ops.h"
#include "simulator/cost_model.h"
#include "simulator/device_profile.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

// 1 byte a nanosecond.
NetworkModel SlowNetwork(int64_t ranks) {
  return {.between_hosts = {.latency_ns = 1000, .bytes_per_second = 1e9},
          .within_host = {.latency_ns = 1000, .bytes_per_second = 1e9},
          .all_reduce = AllReduceAlgorithm::kRing,
          .ranks = ranks};
}

// One collective of gradients of 100 and 300 elements.
class CollectiveCostTest : public ::testing::Test {
 protected:
  const Node& Add(const char* op, const Attributes& attributes = {}) {
    GraphBuilder g(StandardOps(), "collectives");
    std::vector<Tensor> inputs;
    for (const int64_t elements : {100, 300}) {
      inputs.push_back(g.Placeholder("x" + std::to_string(elements),
                                     DType::kFloat32, {elements}));
    }
    inputs.push_back(g.Placeholder("weight", DType::kFloat32, {}));
    g.AddAll(
        g,
        {.op = op, .inputs = inputs, .attributes = attributes, .name = "sum"});
    graph_ = std::move(g).Build().value();
    return *std::ranges::find(graph_.nodes(), "sum", &Node::name);
  }

  Graph graph_;
};

TEST_F(CollectiveCostTest, AllElementsTravelInTheTypeOfTheWire) {
  const Node& plain = Add("AllReduce");
  EXPECT_EQ(WireBytes(graph_, plain), 1600);
  // 2 rounds of half of the bytes.
  EXPECT_EQ(CollectiveNs(SlowNetwork(2), graph_, plain), 2 * (1000 + 800));
  const Node& half = Add("AllReduce", {{"wire", DType::kFloat16}});
  EXPECT_EQ(WireBytes(graph_, half), 800);
  EXPECT_EQ(CollectiveNs(SlowNetwork(2), graph_, half), 2 * (1000 + 400));
}

TEST_F(CollectiveCostTest, SparseGradientsAreGatheredAsPairs) {
  const Node& top = Add("SparseAllReduce", {{"topk_fraction", 0.1}});
  EXPECT_EQ(WireBytes(graph_, top), 40 * 8);
  EXPECT_EQ(CollectiveNs(SlowNetwork(4), graph_, top), 3 * (1000 + 320));
  // All elements at most, after the ranks agree on how many.
  const Node& large = Add("SparseAllReduce", {{"min_magnitude", 0.1}});
  EXPECT_EQ(WireBytes(graph_, large), 400 * 8);
  EXPECT_EQ(CollectiveNs(SlowNetwork(4), graph_, large),
            3 * (1000 + 3200) + 6 * (1000 + 2));
}

TEST_F(CollectiveCostTest, KernelTimesHaveTheNetworkOnTopOfTheWorkOfARank) {
  const Node& node = Add("AllReduce");
  DeviceProfile profile = {.memory_bytes_per_second = 1e9,
                           .flops_per_second = {{DType::kFloat32, 1e12}}};
  const auto ns = [&] {
    return EstimateKernelTimes(graph_, StandardOps(), profile)[node.id];
  };
  constexpr int64_t kTouched = 1600 + 4 + 1600;  // bytes, 1 a nanosecond
  EXPECT_EQ(ns(), kTouched);
  profile.network = SlowNetwork(2);
  EXPECT_EQ(ns(), kTouched + 3600);
  profile.network->ranks = 1;
  EXPECT_EQ(ns(), 0);
}

}  // namespace
}  // namespace spillway
