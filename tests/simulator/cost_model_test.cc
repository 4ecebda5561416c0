#include "simulator/cost_model.h"

#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

DeviceProfile CostProfile() {
  return {.memory_bytes_per_second = 1e9,
          .memory_efficiency = 0.5,
          .flops_per_second = {{DType::kFloat32, 1e9}, {DType::kBFloat16, 4e9}},
          .compute_efficiency = 0.5,
          .kernel_ns = 1000};
}

// a [m, k] times b [k, n].
int64_t MatMulNs(DType dtype, int64_t m, int64_t k, int64_t n) {
  Graph graph;
  const auto add = [&](const char* name, const char* op,
                       std::vector<ValueId> inputs, Shape shape) {
    return graph.AddNode({.name = name,
                          .op = op,
                          .inputs = std::move(inputs),
                          .outputs = {{.dtype = dtype, .shape = shape}}});
  };
  const NodeId a = add("a", "Placeholder", {}, {m, k});
  const NodeId b = add("b", "Placeholder", {}, {k, n});
  const NodeId y =
      add("y", "MatMul", {graph.output(a), graph.output(b)}, {m, n});
  return EstimateKernelTimes(graph, StandardOps(), CostProfile())[y];
}

TEST(CostModelTest, LargeProductsTakeTheirFlopsAtTheRateOfTheirDType) {
  // 2 * 200^3 flops at 5e8 or 2e9 a second.
  EXPECT_EQ(MatMulNs(DType::kFloat32, 200, 200, 200), 32'000'000);
  EXPECT_EQ(MatMulNs(DType::kBFloat16, 200, 200, 200), 8'000'000);
}

TEST(CostModelTest, ThinProductsTakeTheirBytes) {
  // (1 + 2000 * 1 + 2000) * 4 bytes at 5e8 a second; 8000 ns of flops.
  EXPECT_EQ(MatMulNs(DType::kFloat32, 2000, 1, 1), 4 * 4001 * 2);
}

TEST(CostModelTest, NothingIsFasterThanAKernel) {
  EXPECT_EQ(MatMulNs(DType::kFloat32, 1, 1, 1), 1000);
}

TEST(CostModelTest, APlanOnlyNodeTakesWhatItStatesOrItsBytes) {
  Graph graph;
  const TensorType type{.dtype = DType::kUInt8, .shape = {10'000}};
  const NodeId stated =
      graph.AddNode({.name = "stated",
                     .op = "Mystery",
                     .outputs = {type},
                     .cost = StatedCost{.flops = 1, .time_us = 410}});
  const NodeId bytes = graph.AddNode({.name = "bytes",
                                      .op = "Mystery",
                                      .inputs = {graph.output(stated)},
                                      .outputs = {type}});
  const auto times = EstimateKernelTimes(graph, StandardOps(), CostProfile());
  EXPECT_EQ(times[stated], 410'000);
  EXPECT_EQ(times[bytes], 40'000);  // 20,000 bytes at 5e8 a second
}

// Two products of one shape and one of another, the last with a stated time.
TEST(CostModelTest, MeasuredTimesGoBeforeTheRooflineAndStatedOnesBeforeBoth) {
  Graph graph;
  const TensorType square{.dtype = DType::kFloat32, .shape = {8, 8}};
  const TensorType wide{.dtype = DType::kFloat32, .shape = {8, 16}};
  const NodeId a =
      graph.AddNode({.name = "a", .op = "Placeholder", .outputs = {square}});
  const NodeId b =
      graph.AddNode({.name = "b", .op = "Placeholder", .outputs = {wide}});
  const auto product = [&](const char* name, NodeId right,
                           std::optional<StatedCost> cost) {
    return graph.AddNode({.name = name,
                          .op = "MatMul",
                          .inputs = {graph.output(a), graph.output(right)},
                          .outputs = {right == a ? square : wide},
                          .cost = cost});
  };
  const NodeId first = product("first", a, {});
  const NodeId second = product("second", a, {});
  const NodeId other = product("other", b, {});
  const NodeId stated =
      product("stated", a, StatedCost{.flops = 1, .time_us = 3});
  DeviceProfile profile = CostProfile();
  profile.kernels["MatMul(float32[8, 8], float32[8, 8]) -> float32[8, 8]"] = 77;
  const auto times = EstimateKernelTimes(graph, StandardOps(), profile);
  EXPECT_EQ(times[first], 77);
  EXPECT_EQ(times[second], 77);
  EXPECT_EQ(times[other], 4096);  // 2 * 8 * 8 * 16 flops at 5e8 a second
  EXPECT_EQ(times[stated], 3000);
}

TEST(CostModelTest, ANamedAlgorithmTakesItsOwnTime) {
  Graph graph;
  const TensorType type{.dtype = DType::kFloat32, .shape = {8, 8}};
  const NodeId x =
      graph.AddNode({.name = "x", .op = "Placeholder", .outputs = {type}});
  const NodeId y = graph.AddNode({.name = "y",
                                  .op = "MatMul",
                                  .inputs = {graph.output(x), graph.output(x)},
                                  .outputs = {type}});
  const char* signature =
      "MatMul(float32[8, 8], float32[8, 8]) -> float32[8, 8]";
  DeviceProfile profile = CostProfile();
  profile.algorithms[signature]["split"] = {.workspace_bytes = 9, .ns = 55};
  const auto time_of = [&](const std::string& algorithm) {
    AlgorithmNames names(graph.num_nodes());
    names[y] = algorithm;
    return EstimateKernelTimes(graph, StandardOps(), profile, names)[y];
  };
  EXPECT_EQ(time_of("split"), 55);
  EXPECT_EQ(time_of("other"), 2048);  // 2 * 8 * 8 * 8 flops at 5e8 a second
  profile.kernels[signature] = 77;
  EXPECT_EQ(time_of("split"), 55);
  EXPECT_EQ(time_of("other"), 77);
  EXPECT_EQ(time_of(""), 77);
}

}  // namespace
}  // namespace spillway
