#include "ops/linear/conv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/builder/gradient.h"
#include "ops/all_ops.h"
#include "ops/cpu/lanes.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::StatusIs;

// Makes a convolution with this dtype everywhere, 1x1 or not.
absl::Status MakeConv(DType dtype, int64_t window) {
  const Attributes attributes = {{"padding", "SAME"}};
  const TensorType x = {.dtype = dtype, .shape = {1, 4, 4, 3}};
  const TensorType filter = {.dtype = dtype, .shape = {3, window, window, 3}};
  const std::vector<TensorType> inputs = {x, filter};
  const std::vector<TensorType> outputs = {x};
  return ops::ConvCpu(
             {.attributes = attributes, .inputs = inputs, .outputs = outputs})
      .status();
}

TEST(ConvCpu, SaysThatBFloat16NeedsAvx512) {
  EXPECT_THAT(MakeConv(DType::kFloat32, 3), IsOk());
  for (const int64_t window : {1, 3}) {
    const absl::Status status = MakeConv(DType::kBFloat16, window);
    if (HasAvx512()) {
      EXPECT_THAT(status, IsOk());
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented,
                                   HasSubstr("a CPU with AVX-512")));
    }
  }
}

TEST(ConvCpu, RefusesFloat16) {
  for (const int64_t window : {1, 3}) {
    EXPECT_THAT(MakeConv(DType::kFloat16, window),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr("float32 and bfloat16")));
  }
}

// The types of the gradients of a bfloat16 x and of a float32 filter.
std::vector<TensorType> GradientTypes(const char* op, const Shape& x_shape,
                                      Attributes attributes) {
  GraphBuilder g(StandardOps());
  const Tensor x = g.Placeholder("x", DType::kBFloat16, x_shape);
  const Tensor filter = g.Placeholder("filter", DType::kFloat32, {5, 3, 3, 2});
  const Tensor y = g.Add(
      g,
      {.op = op, .inputs = {x, filter}, .attributes = std::move(attributes)});
  const Tensor wide = g.Add(g, {.op = "Cast",
                                .inputs = {y},
                                .attributes = {{"dtype", DType::kFloat32}}});
  const Tensor loss =
      g.Add(g, {.op = "Sum",
                .inputs = {wide},
                .attributes = {{"axes", std::vector<int64_t>{0, 1, 2, 3}}}});
  std::vector<TensorType> types;
  for (const Tensor dx :
       AddGradients(g.Scope("gradients"), loss, {{x, filter}})) {
    if (dx.is_valid()) types.push_back(dx.type());
  }
  EXPECT_THAT(g.status(), IsOk());
  return types;
}

// The algorithms that a filter gradient of this dtype lists.
std::vector<std::string> FilterGradientAlgorithms(DType dtype, int64_t window,
                                                  std::string_view algorithm) {
  const Attributes attributes = {{"padding", "SAME"}};
  const std::vector<TensorType> inputs = {
      {.dtype = dtype, .shape = {2, 6, 6, 16}},
      {.dtype = dtype, .shape = {2, 6, 6, 32}}};
  const std::vector<TensorType> outputs = {
      {.dtype = DType::kFloat32, .shape = {32, window, window, 16}}};
  const NewKernel kernel = ops::ConvBackpropFilterCpu({.attributes = attributes,
                                                       .inputs = inputs,
                                                       .outputs = outputs,
                                                       .algorithm = algorithm});
  if (!kernel.ok()) return {std::string(kernel.status().message())};
  const auto algorithms = (*kernel)->ListAlgorithms();
  EXPECT_THAT(algorithms, IsOk());
  std::vector<std::string> names;
  for (const KernelAlgorithm& each : *algorithms) names.push_back(each.name);
  if (!algorithm.empty()) {
    EXPECT_EQ((*kernel)->algorithm(), algorithm);
  }
  return names;
}

TEST(ConvBackpropFilterCpu, ListsItsAlgorithms) {
  if (!HasAvx512()) GTEST_SKIP() << "needs a CPU with AVX-512";
  for (const char* chosen : {"", "direct", "patches", "winograd_4x4"}) {
    EXPECT_THAT(
        FilterGradientAlgorithms(DType::kFloat32, 3, chosen),
        ElementsAre("direct", "patches", "winograd_4x4", "winograd_2x2"));
  }
  for (const char* chosen :
       {"", "direct", "patches", "float32", "winograd_2x2"}) {
    EXPECT_THAT(FilterGradientAlgorithms(DType::kBFloat16, 3, chosen),
                ElementsAre("direct", "patches", "float32", "winograd_4x4",
                            "winograd_2x2"));
  }
  // A single matrix product.
  EXPECT_THAT(FilterGradientAlgorithms(DType::kFloat32, 1, ""), IsEmpty());
  EXPECT_THAT(
      FilterGradientAlgorithms(DType::kFloat32, 3, "fft"),
      ElementsAre(HasSubstr("no algorithm \"fft\" here; it has: direct")));
}

// Runs a filter gradient with every access checked.
absl::Status RunFilterGradient(int64_t in, int64_t out, int64_t size,
                               int64_t stride) {
  GraphBuilder g("filter_gradient");
  const int64_t y_size = (size + stride - 1) / stride;
  const Tensor x = g.Placeholder("x", DType::kFloat32, {1, size, size, in});
  const Tensor dy =
      g.Placeholder("dy", DType::kFloat32, {1, y_size, y_size, out});
  const Tensor gradient =
      g.Add(g, {.op = "Conv2DBackpropFilter",
                .inputs = {x, dy},
                .attributes = {{"filter_shape", Shape({out, 1, 1, in})},
                               {"strides", std::vector<int64_t>(2, stride)},
                               {"padding", "VALID"}}});
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      testing::NewSession(
          {.graph = std::move(graph), .fetches = {gradient.id()}},
          {.device = "inline", .check_memory = true}));
  const std::vector<float> x_values(
      static_cast<size_t>(x.shape().num_elements()));
  const std::vector<float> dy_values(
      static_cast<size_t>(dy.shape().num_elements()));
  return session->Step({{x, x_values}, {dy, dy_values}}).status();
}

// A primitive of oneDNN 2.6 exceeds it if there is no AVX-512.
TEST(ConvBackpropFilterCpu, OfAStridedPointwiseStaysInItsWorkspace) {
  EXPECT_THAT(RunFilterGradient(3, 10, 8, 2), IsOk());
  EXPECT_THAT(RunFilterGradient(1, 32, 12, 3), IsOk());
  std::mt19937 random(1);
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const auto pick = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    const int64_t in = pick(1, 40);
    const int64_t out = pick(1, 40);
    const int64_t size = pick(3, 14);
    const int64_t stride = pick(2, 3);
    SCOPED_TRACE(fmt::format("{} to {} channels of {} x {}, stride {}", in, out,
                             size, size, stride));
    EXPECT_THAT(RunFilterGradient(in, out, size, stride), IsOk());
  }
}

struct StridedPointwise {
  int64_t batch = 0;
  int64_t size = 0;
  int64_t in = 0;
  int64_t out = 0;
  int threads = 0;
  DType dtype = DType::kFloat32;  // of x and dy
};

// Runs the filter gradient for stride 2 in zeroed memory. Returns how many
// bytes within 16 KiB behind its workspace it changed.
absl::StatusOr<int64_t> BytesBehindWorkspace(const StridedPointwise& conv) {
  const int64_t y_size = (conv.size + 1) / 2;
  const Attributes attributes = {
      {"filter_shape", Shape({conv.out, 1, 1, conv.in})},
      {"strides", std::vector<int64_t>(2, 2)},
      {"padding", "SAME"}};
  const std::vector<TensorType> inputs = {
      {.dtype = conv.dtype,
       .shape = {conv.batch, conv.size, conv.size, conv.in}},
      {.dtype = conv.dtype, .shape = {conv.batch, y_size, y_size, conv.out}}};
  const std::vector<TensorType> outputs = {
      {.dtype = DType::kFloat32, .shape = {conv.out, 1, 1, conv.in}}};
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Kernel> kernel,
      ops::ConvBackpropFilterCpu({.attributes = attributes,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .threads = conv.threads}));
  constexpr int64_t kBehind = 16 << 10;
  const auto floats = [](int64_t bytes, float value) {
    return std::vector<float>(static_cast<size_t>(bytes + 256) / 4, value);
  };
  std::vector<float> x = floats(inputs[0].num_bytes(), 1);
  std::vector<float> dy = floats(inputs[1].num_bytes(), 1);
  std::vector<float> dw = floats(outputs[0].num_bytes(), 0);
  std::vector<float> scratch = floats(kernel->workspace_bytes() + kBehind, 0);
  const auto align = [](std::vector<float>& values) -> void* {
    void* start = values.data();
    size_t space = values.size() * 4;
    return std::align(256, space - 256, start, space);
  };
  std::vector<void*> read = {align(x), align(dy)};
  std::vector<void*> written = {align(dw)};
  auto* const workspace = static_cast<std::byte*>(align(scratch));
  SPILLWAY_RETURN_IF_ERROR(kernel->Run(
      {.inputs = read, .outputs = written, .workspace = workspace}));
  const std::byte* const end = workspace + kernel->workspace_bytes();
  return kBehind - std::count(end, end + kBehind, std::byte{0});
}

// A primitive of oneDNN 2.6 for AVX-512 exceeds it: far enough to miss the
// fences of the checked executor.
TEST(ConvBackpropFilterCpu,
     OfAStridedPointwiseStaysInItsWorkspaceOfAllThreads) {
  std::vector<StridedPointwise> convs = {
      {3, 12, 3, 10, 2}, {2, 16, 8, 2, 3},   {1, 12, 13, 15, 2},
      {3, 16, 6, 40, 2}, {1, 12, 8, 10, 2},  {2, 16, 1, 3, 4},
      {3, 12, 8, 21, 4}, {2, 14, 32, 64, 4}, {2, 14, 20, 24, 4}};
  if (HasAvx512()) {
    convs.push_back({3, 12, 8, 11, 2, DType::kBFloat16});
    convs.push_back({2, 14, 32, 64, 4, DType::kBFloat16});
  }
  for (const StridedPointwise& conv : convs) {
    SCOPED_TRACE(fmt::format("{} to {} channels, {} threads", conv.in, conv.out,
                             conv.threads));
    ASSERT_OK_AND_ASSIGN(const int64_t changed, BytesBehindWorkspace(conv));
    EXPECT_EQ(changed, 0);
  }
}

TEST(Conv2D, HasGradientsOfTheTypesOfItsInputs) {
  const TensorType x = {.dtype = DType::kBFloat16, .shape = {1, 4, 4, 2}};
  const TensorType filter = {.dtype = DType::kFloat32, .shape = {5, 3, 3, 2}};
  EXPECT_THAT(GradientTypes("Conv2D", x.shape, {{"padding", "SAME"}}),
              ElementsAre(x, filter));
}

TEST(Conv2DTranspose, HasGradientsOfTheTypesOfItsInputs) {
  const TensorType x = {.dtype = DType::kBFloat16, .shape = {1, 4, 4, 5}};
  const TensorType filter = {.dtype = DType::kFloat32, .shape = {5, 3, 3, 2}};
  EXPECT_THAT(GradientTypes(
                  "Conv2DTranspose", x.shape,
                  {{"padding", "SAME"}, {"output_shape", Shape({1, 4, 4, 2})}}),
              ElementsAre(x, filter));
}

}  // namespace
}  // namespace spillway
