// Winograd's algorithm beside the naive convolutions of the cases of ops.
#include "ops/cpu/conv/winograd.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ops/cpu/lanes.h"
#include "tests/ops/cases/conv_case.h"
#include "tests/ops/cases/run_op_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::Doubles;
using testing::DoublesList;
using testing::OpCase;

constexpr double kError = 4e-6;

struct WindowSize {
  int64_t height = 3;
  int64_t width = 3;
};
constexpr WindowSize kWindows[] = {{3, 3}, {5, 5}, {1, 3},
                                   {3, 1}, {1, 7}, {7, 1}};

struct DenseConv {
  WindowSize window = {};
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t in = 1;
  int64_t out = 1;
  int64_t before = 1;  // padding
  int64_t after = 1;
};

testing::Conv CaseOf(const DenseConv& conv) {
  const auto [height, width] = conv.window;
  const auto output = [&](int64_t input, int64_t size) {
    return input + conv.before + conv.after - size + 1;
  };
  return {.name = "Winograd",
          .x = {conv.batch, conv.rows, conv.columns, conv.in},
          .filter = {conv.out, height, width, conv.in},
          .y = {conv.batch, output(conv.rows, height),
                output(conv.columns, width), conv.out},
          .padding = "EXPLICIT",
          .pad_before = {conv.before, conv.before},
          .pad_after = {conv.after, conv.after}};
}

// The names of the algorithms for windows of this size.
std::vector<std::string> TilesOf(const WindowSize& window) {
  std::vector<std::string> names;
  for (const WinogradTile& tile : WinogradTilesOf(
           {.window = {{.size = window.height}, {.size = window.width}}})) {
    names.push_back(tile.algorithm());
  }
  return names;
}

// The convolution and its gradients in float32 and bfloat16.
std::vector<OpCase> AllCasesOf(const DenseConv& conv) {
  std::vector<OpCase> cases = CasesOf(CaseOf(conv));
  std::erase_if(cases, [](const OpCase& c) {
    return c.outputs[0].dtype == DType::kFloat16;
  });
  return cases;
}

std::vector<OpCase> Float32CasesOf(const DenseConv& conv) {
  std::vector<OpCase> cases = AllCasesOf(conv);
  std::erase_if(cases, [](const OpCase& c) {
    return c.inputs[1].type.dtype != DType::kFloat32 ||
           c.outputs[0].dtype != DType::kFloat32;
  });
  return cases;
}

bool IsFilterGradient(const OpCase& c) {
  return c.op == "Conv2DBackpropFilter";
}

// What the reference says of a case's inputs.
struct Expected {
  Doubles values = {};
  // The largest sum of the sizes of the products: the algorithm's errors are
  // relative to all pixels of a tile.
  double size = 0;
};

Expected ExpectedOf(const OpCase& c) {
  DoublesList inputs;
  for (const HostTensor& input : MakeInputs(c)) {
    inputs.push_back(ToDoubles(input));
  }
  Expected expected = {.values = c.reference(inputs)[0]};
  for (Doubles& input : inputs) {
    for (double& x : input) x = std::abs(x);
  }
  expected.size = std::ranges::max(c.reference(inputs)[0]);
  return expected;
}

Doubles RunCase(const OpCase& c, const std::string& algorithm, int threads) {
  const auto run = RunOpCase(c, {.threads = threads, .algorithm = algorithm});
  EXPECT_THAT(run, testing::IsOk());
  return run.ok() ? ToDoubles(run->outputs[0]) : Doubles();
}

// The largest error, in parts of Expected::size.
double Error(const Doubles& got, const Expected& expected) {
  EXPECT_EQ(got.size(), expected.values.size());
  double most = 0;
  for (size_t i = 0; i < std::min(got.size(), expected.values.size()); ++i) {
    most = std::max(most, std::abs(got[i] - expected.values[i]));
  }
  return most / expected.size;
}

class WinogradTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasAvx512()) GTEST_SKIP() << "needs a CPU with AVX-512";
  }
};

TEST_F(WinogradTest, ComputesWhatANaiveConvolutionComputes) {
  std::mt19937 random(20261128);
  const auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < 120 && !HasFailure(); ++i) {
    const WindowSize& window = kWindows[pick(0, std::ssize(kWindows) - 1)];
    const int64_t most_before = std::min(window.height, window.width) + 1;
    const DenseConv conv = {.window = window,
                            .batch = pick(1, 3),
                            .rows = pick(window.height, window.height + 8),
                            .columns = pick(window.width, window.width + 8),
                            .in = pick(1, 40),
                            .out = pick(1, 40),
                            .before = pick(0, most_before),
                            .after = pick(0, most_before)};
    const int threads = static_cast<int>(pick(1, 3));
    SCOPED_TRACE(fmt::format(
        "{} images of {} x {}, window {} x {}, {} before, {} after, {} to {} "
        "channels, {} threads",
        conv.batch, conv.rows, conv.columns, window.height, window.width,
        conv.before, conv.after, conv.in, conv.out, threads));
    for (const OpCase& c : AllCasesOf(conv)) {
      const Expected expected = ExpectedOf(c);
      const double most = c.outputs[0].dtype == DType::kFloat32 ? kError : 4e-3;
      for (const std::string& tile : TilesOf(window)) {
        EXPECT_LT(Error(RunCase(c, tile, threads), expected), most)
            << c.name << " " << tile;
      }
    }
  }
}

// Several teams of threads with several blocks each.
TEST_F(WinogradTest, ComputesManyTilesInBlocksOfItsTeams) {
  for (const WindowSize& window : kWindows) {
    for (const OpCase& c : Float32CasesOf({.window = window,
                           .batch = 2,
                           .rows = 79,
                           .columns = 37,
                           .in = 19,
                           .out = 70})) {
      const Expected expected = ExpectedOf(c);
      for (const std::string& tile : TilesOf(window)) {
        const Doubles one = RunCase(c, tile, 1);
        const Doubles three = RunCase(c, tile, 3);
        EXPECT_LT(Error(one, expected), kError) << c.name << " " << tile;
        EXPECT_LT(Error(three, expected), kError) << c.name << " " << tile;
        if (!IsFilterGradient(c)) {
          EXPECT_EQ(one, three) << c.name << " " << tile;
        }
      }
    }
  }
}

// Filters so large that all threads share a block.
TEST_F(WinogradTest, SharesBlocksAmongThreadsWhereFiltersAreLarge) {
  for (const OpCase& c : Float32CasesOf(
           {.batch = 2, .rows = 5, .columns = 5, .in = 136, .out = 128})) {
    const Expected expected = ExpectedOf(c);
    for (const std::string& tile : TilesOf({})) {
      EXPECT_LT(Error(RunCase(c, tile, 2), expected), kError)
          << c.name << " " << tile;
    }
  }
}

// winograd.h states the factors.
TEST_F(WinogradTest, ErrsLittleMoreThanTheDirectAlgorithm) {
  for (const WindowSize& window : kWindows) {
    for (const OpCase& c : Float32CasesOf({.window = window,
                           .batch = 2,
                           .rows = 16,
                           .columns = 16,
                           .in = 64,
                           .out = 64,
                           .before = 0,
                           .after = 0})) {
      const Expected expected = ExpectedOf(c);
      const double direct = Error(RunCase(c, "direct", 2), expected);
      EXPECT_GT(direct, 0);
      for (const std::string& tile : TilesOf(window)) {
        const double factor = Error(RunCase(c, tile, 2), expected) / direct;
        EXPECT_LT(factor, 24) << c.name << " " << tile;
        RecordProperty(fmt::format("{} {} x {} {}", tile, window.height,
                                   window.width, c.op),
                       fmt::format("{:.2f}", factor));
      }
    }
  }
}

TEST_F(WinogradTest, IsForDenseSquaresAndLinesOnly) {
  for (const WindowSize& window : kWindows) {
    EXPECT_THAT(TilesOf(window), ::testing::Not(::testing::IsEmpty()));
  }
  for (const WindowSize& window :
       {WindowSize{1, 1}, {2, 2}, {3, 5}, {7, 7}, {1, 5}, {9, 1}}) {
    EXPECT_THAT(TilesOf(window), ::testing::IsEmpty());
  }
  const WindowDim three = {
      .input = 8, .output = 8, .size = 3, .pad_before = 1, .pad_after = 1};
  const ConvGeometry conv = {.window = {three, three}};
  EXPECT_THAT(WinogradTilesOf(conv),
              ::testing::ElementsAre(WinogradTile{4, 4}, WinogradTile{2, 2}));
  const auto refuses = [&](const auto& change) {
    ConvGeometry other = conv;
    change(other);
    return WinogradTilesOf(other).empty();
  };
  EXPECT_TRUE(refuses([](ConvGeometry& c) { c.window[1].stride = 2; }));
  EXPECT_TRUE(refuses([](ConvGeometry& c) { c.window[1].dilation = 2; }));
  EXPECT_TRUE(refuses([](ConvGeometry& c) { c.groups = 2; }));
  EXPECT_TRUE(
      refuses([](ConvGeometry& c) { c.window.push_back({.size = 3}); }));
}

}  // namespace
}  // namespace spillway
