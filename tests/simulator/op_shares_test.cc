#include "simulator/op_shares.h"

#include "graph/builder/builder.h"
#include "ops/all_ops.h"
#include "simulator/node_signature.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::DoubleEq;

// Two products of 100 x 100 matrices, in float32 and bfloat16, and two Relus of
// 1,000 elements, of which one reaches no fetch.
class OpSharesTest : public ::testing::Test {
 protected:
  OpSharesTest() {
    GraphBuilder g(StandardOps(), "step");
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      const Tensor x =
          g.Placeholder(std::string(DTypeName(dtype)), dtype, {100, 100});
      fetches_.push_back(g.Add(g, {.op = "MatMul", .inputs = {x, x}}));
    }
    const Tensor vector = g.Placeholder("vector", DType::kFloat32, {1000});
    fetches_.push_back(g.Add(g, {.op = "Relu", .inputs = {vector}}));
    g.Add(g, {.op = "Relu", .inputs = {vector}});
    absl::StatusOr<Graph> graph = std::move(g).Build();
    EXPECT_THAT(graph, testing::IsOk());
    if (graph.ok()) graph_ = *std::move(graph);
    for (const Node& node : graph_.nodes()) {
      if (node.op != "MatMul" && node.op != "Relu") continue;
      const bool is_bfloat16 =
          graph_.type(graph_.output(node.id)).dtype == DType::kBFloat16;
      profile_.kernels[NodeSignature(graph_, node)] =
          node.op == "Relu" ? 10'000 : (is_bfloat16 ? 1'000'000 : 3'000'000);
    }
  }

  StepShares Shares() const {
    return SharesOfOps(graph_, StandardOps(), fetches_, profile_);
  }

  Graph graph_ = {};
  std::vector<ValueId> fetches_ = {};
  DeviceProfile profile_ = {
      .memory_bytes_per_second = 1e9,
      .flops_per_second = {{DType::kFloat32, 1e9}, {DType::kBFloat16, 4e9}}};
};

TEST_F(OpSharesTest, CountsEveryNodeThatRunsAtThePeakOfItsDType) {
  const StepShares shares = Shares();
  ASSERT_EQ(shares.ops.size(), 2U);
  const OpShare& products = shares.ops[0];
  EXPECT_EQ(products.op, "MatMul");
  EXPECT_EQ(products.nodes, 2);
  EXPECT_EQ(products.ns, 4'000'000);
  EXPECT_THAT(products.of_time, DoubleEq(4000.0 / 4010));
  // 2e6 flops each: 2 ms at 1e9, 0.5 ms at 4e9 a second.
  EXPECT_THAT(products.of_flops_peak, DoubleEq(2.5 / 4));
  const OpShare& relus = shares.ops[1];
  EXPECT_EQ(relus.op, "Relu");
  EXPECT_EQ(relus.nodes, 1);
  EXPECT_EQ(relus.ns, 10'000);
  // Two vectors of 4,000 bytes in 10 us.
  EXPECT_THAT(relus.of_memory_peak, DoubleEq(0.8));
}

TEST_F(OpSharesTest, TheWholeStepIsTheirSum) {
  const OpShare all = Shares().all;
  EXPECT_EQ(all.nodes, 3);
  EXPECT_EQ(all.ns, 4'010'000);
  EXPECT_THAT(all.of_time, DoubleEq(1));
  EXPECT_GT(all.of_memory_peak, 0);
}

TEST_F(OpSharesTest, NothingMeasuredIsNoShare) {
  profile_.kernels.clear();
  const StepShares shares = Shares();
  EXPECT_TRUE(shares.ops.empty());
  EXPECT_EQ(shares.all.nodes, 0);
  EXPECT_THAT(shares.all.of_flops_peak, DoubleEq(0));
}

}  // namespace
}  // namespace spillway
