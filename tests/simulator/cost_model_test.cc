#include "simulator/cost_model.h"

#include "graph/builder/builder.h"
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

struct Window {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t groups = 1;
};

// Times of a convolution of 16 x 16 pixels from 40 to 40 channels, and of its
// two gradients.
std::vector<int64_t> ConvolutionNs(const Window& window,
                                   const DeviceProfile& profile,
                                   DType dtype = DType::kFloat32) {
  GraphBuilder g(StandardOps(), "convolution");
  const Tensor x = g.Placeholder("x", dtype, {1, 16, 16, 40});
  const Tensor filter = g.Placeholder(
      "filter", dtype, {40, window.size, window.size, 40 / window.groups});
  Attributes attributes;
  attributes.Set("padding", "SAME");
  attributes.Set("strides", std::vector<int64_t>(2, window.stride));
  attributes.Set("dilations", std::vector<int64_t>(2, window.dilation));
  attributes.Set("groups", window.groups);
  const auto add = [&](const char* op, std::vector<Tensor> inputs,
                       const Attributes& others) {
    return g.Add(g.Scope("conv"),
                 {.op = op, .inputs = std::move(inputs), .attributes = others});
  };
  const Tensor y = add("Conv2D", {x, filter}, attributes);
  Attributes of_input = attributes;
  of_input.Set("input_shape", x.shape());
  add("Conv2DBackpropInput", {filter, y}, of_input);
  Attributes of_filter = attributes;
  of_filter.Set("filter_shape", filter.shape());
  add("Conv2DBackpropFilter", {x, y}, of_filter);
  const absl::StatusOr<Graph> graph = std::move(g).Build();
  EXPECT_THAT(graph, testing::IsOk());
  if (!graph.ok()) return {};
  const auto times = EstimateKernelTimes(*graph, StandardOps(), profile);
  std::vector<int64_t> conv;
  for (const Node& node : graph->nodes()) {
    if (node.op.starts_with("Conv2D")) conv.push_back(times[node.id]);
  }
  return conv;
}

// Memory so fast that only flops take time.
DeviceProfile ConvolutionProfile() {
  DeviceProfile profile = CostProfile();
  profile.memory_bytes_per_second = 1e15;
  profile.convolution_efficiency[DType::kFloat32] = {
      .pointwise = 0.25, .winograd = 2, .other = 0.125};
  return profile;
}

TEST(CostModelTest, ConvolutionsReachTheirOwnPartOfThePeak) {
  const DeviceProfile profile = ConvolutionProfile();
  const auto each = [](int64_t ns) { return std::vector<int64_t>(3, ns); };
  // 2 * 16 * 16 * 40 * 40 = 819,200 flops for each element of the window, at
  // 1e9 per second times the efficiency.
  EXPECT_EQ(ConvolutionNs({.size = 1}, profile), each(819'200 * 4));
  EXPECT_EQ(ConvolutionNs({.size = 3}, profile), each(9 * 819'200 / 2));
  EXPECT_EQ(ConvolutionNs({.size = 5}, profile), each(25 * 819'200 / 2));
  EXPECT_EQ(ConvolutionNs({.size = 7}, profile), each(49 * 819'200 * 8));
  // A quarter of the outputs; for each, a quarter of the multiplications.
  EXPECT_EQ(ConvolutionNs({.size = 1, .stride = 2}, profile), each(819'200));
  EXPECT_EQ(ConvolutionNs({.size = 3, .stride = 2}, profile),
            each(9 * 819'200 * 2));
  EXPECT_EQ(ConvolutionNs({.size = 3, .groups = 4}, profile),
            each(9 * 819'200 * 2));
  EXPECT_EQ(ConvolutionNs({.size = 3, .dilation = 2}, profile),
            each(9 * 819'200 * 8));
}

TEST(CostModelTest, ConvolutionsWithoutAPartOfTheirOwnReachThatOfProducts) {
  DeviceProfile profile = ConvolutionProfile();
  const auto each = [](int64_t ns) { return std::vector<int64_t>(3, ns); };
  // bfloat16 has a rate, but no convolution efficiencies.
  EXPECT_EQ(ConvolutionNs({.size = 3}, profile, DType::kBFloat16),
            each(9 * 819'200 / 2));
  // float16 has no rate and uses float32's.
  EXPECT_EQ(ConvolutionNs({.size = 7}, profile, DType::kFloat16),
            each(49 * 819'200 * 8));
  profile.convolution_efficiency.clear();
  EXPECT_EQ(ConvolutionNs({.size = 7}, profile), each(49 * 819'200 * 2));
}

TEST(CostModelTest, AMeasuredConvolutionGoesBeforeItsPartOfThePeak) {
  DeviceProfile profile = ConvolutionProfile();
  profile.kernels
      ["Conv2D{dilations=[1, 1], groups=1, padding=\"SAME\", strides=[1, 1]}"
       "(float32[1, 16, 16, 40], float32[40, 3, 3, 40]) -> "
       "float32[1, 16, 16, 40]"] = 77;
  const std::vector<int64_t> times = ConvolutionNs({.size = 3}, profile);
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0], 77);
  EXPECT_EQ(times[1], 9 * 819'200 / 2);
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

// Two products of one shape and one of another; the last has a stated time.
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
