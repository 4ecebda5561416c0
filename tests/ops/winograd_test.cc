// Winograd's algorithm beside a naive convolution in double.
#include "ops/cpu/conv/winograd.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bfloat16.h"
#include "fmt/format.h"
#include "ops/cpu/lanes.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

enum class Gradient { kNone, kInput, kFilter };

Window SquareWindow(int64_t rows, int64_t columns, int64_t before,
                    int64_t after) {
  Window window;
  for (const int64_t input : {rows, columns}) {
    window.push_back({.input = input,
                      .output = input + before + after - 2,
                      .size = 3,
                      .pad_before = before,
                      .pad_after = after});
  }
  return window;
}

// The three tensors of a convolution.
struct Tensors {
  std::vector<double> x = {};
  std::vector<double> filter = {};
  std::vector<double> y = {};
};

std::vector<double>& Result(Gradient gradient, Tensors& of) {
  if (gradient == Gradient::kNone) return of.y;
  return gradient == Gradient::kInput ? of.x : of.filter;
}

// Calls fn(index in x, in the filter, in y) for every product.
template <typename Fn>
void ForEachProduct(const ConvGeometry& conv, const Fn& fn) {
  const WindowDim& rows = conv.window[0];
  const WindowDim& columns = conv.window[1];
  for (int64_t n = 0; n < conv.batch; ++n) {
    for (int64_t y = 0; y < rows.output * columns.output; ++y) {
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t row = rows.begin(y / columns.output) + tap / 3;
        const int64_t column = columns.begin(y % columns.output) + tap % 3;
        if (row < 0 || row >= rows.input || column < 0 ||
            column >= columns.input) {
          continue;
        }
        const int64_t x_pixel = (n * rows.input + row) * columns.input + column;
        const int64_t y_pixel = n * rows.output * columns.output + y;
        for (int64_t o = 0; o < conv.out_channels; ++o) {
          for (int64_t i = 0; i < conv.in_channels; ++i) {
            fn(static_cast<size_t>(x_pixel * conv.in_channels + i),
               static_cast<size_t>((o * 9 + tap) * conv.in_channels + i),
               static_cast<size_t>(y_pixel * conv.out_channels + o));
          }
        }
      }
    }
  }
}

// The result from the other two tensors; with `of_sizes`, the sum of the sizes
// of the products instead, by which rounding errors are judged.
std::vector<double> Naive(const ConvGeometry& conv, Gradient gradient,
                          const Tensors& given, bool of_sizes) {
  Tensors sums = given;
  std::ranges::fill(Result(gradient, sums), 0.0);
  ForEachProduct(conv, [&](size_t x, size_t filter, size_t y) {
    double product = 0;
    double* sum = nullptr;
    switch (gradient) {
      case Gradient::kNone:
        product = given.x[x] * given.filter[filter];
        sum = &sums.y[y];
        break;
      case Gradient::kInput:
        product = given.y[y] * given.filter[filter];
        sum = &sums.x[x];
        break;
      case Gradient::kFilter:
        product = given.x[x] * given.y[y];
        sum = &sums.filter[filter];
        break;
    }
    *sum += of_sizes ? std::abs(product) : product;
  });
  return Result(gradient, sums);
}

class WinogradTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasAvx512()) GTEST_SKIP() << "needs a CPU with AVX-512";
  }

  // Numbers that bfloat16 has, so that no dtype rounds them.
  std::vector<double> Draw(int64_t n) {
    std::normal_distribution<float> normal;
    std::vector<double> drawn;
    for (int64_t i = 0; i < n; ++i) {
      drawn.push_back(ToFloat(ToBFloat16(normal(random_))));
    }
    return drawn;
  }

  Tensors DrawTensors(const ConvGeometry& conv) {
    const auto pixels = [&](int64_t WindowDim::*size) {
      return conv.batch * conv.window[0].*size * conv.window[1].*size;
    };
    return {.x = Draw(pixels(&WindowDim::input) * conv.in_channels),
            .filter = Draw(conv.out_channels * 9 * conv.in_channels),
            .y = Draw(pixels(&WindowDim::output) * conv.out_channels)};
  }

  int64_t Pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }

  std::mt19937 random_{20261128};
};

// Runs one of the three kernels with its workspace and its result between
// guards.
class Runner {
 public:
  Runner(const ConvGeometry& conv, Gradient gradient, int threads)
      : gradient_(gradient) {
    spec_ = {.geometry = conv, .threads = threads};
    switch (gradient) {
      case Gradient::kNone:
        Place(spec_.x, spec_.filter, spec_.y);
        break;
      case Gradient::kInput:
        Place(spec_.filter, spec_.y, spec_.x);
        break;
      case Gradient::kFilter:
        Place(spec_.x, spec_.y, spec_.filter);
        break;
    }
  }

  template <typename T>
  std::vector<double> Run(const Tensors& given, std::string_view algorithm) {
    for (ConvTensor* tensor : {&spec_.x, &spec_.y}) {
      tensor->dtype =
          std::is_same_v<T, float> ? DType::kFloat32 : DType::kBFloat16;
    }
    NewKernel kernel = Make(algorithm);
    EXPECT_THAT(kernel, testing::IsOk());
    if (!kernel.ok()) return {};
    return gradient_ == Gradient::kFilter ? RunAs<T, T, float>(**kernel, given)
           : gradient_ == Gradient::kNone ? RunAs<T, float, T>(**kernel, given)
                                          : RunAs<float, T, T>(**kernel, given);
  }

 private:
  static void Place(ConvTensor& first, ConvTensor& second, ConvTensor& result) {
    first.place = Input(0);
    second.place = Input(1);
    result.place = Output(0);
  }

  NewKernel Make(std::string_view algorithm) const {
    if (gradient_ == Gradient::kNone) return MakeConvKernel(spec_, algorithm);
    return gradient_ == Gradient::kInput
               ? MakeConvInputGradientKernel(spec_, algorithm)
               : MakeConvFilterGradientKernel(spec_, algorithm);
  }

  template <typename T>
  static std::vector<T> As(const std::vector<double>& values) {
    std::vector<T> converted;
    for (const double value : values) {
      if constexpr (std::is_same_v<T, float>) {
        converted.push_back(static_cast<float>(value));
      } else {
        converted.push_back(ToBFloat16(static_cast<float>(value)));
      }
    }
    return converted;
  }

  template <typename First, typename Second, typename Out>
  std::vector<double> RunAs(Kernel& kernel, const Tensors& given) {
    Tensors sizes = given;
    const size_t size = Result(gradient_, sizes).size();
    std::vector<First> first =
        As<First>(gradient_ == Gradient::kInput ? given.filter : given.x);
    std::vector<Second> second =
        As<Second>(gradient_ == Gradient::kNone ? given.filter : given.y);
    testing::GuardedBuffer out(static_cast<int64_t>(size * sizeof(Out)));
    testing::GuardedBuffer workspace(kernel.workspace_bytes());
    const std::vector<void*> inputs = {first.data(), second.data()};
    const std::vector<void*> outputs = {out.data()};
    EXPECT_THAT(kernel.Run({.inputs = inputs,
                            .outputs = outputs,
                            .workspace = workspace.data()}),
                testing::IsOk());
    EXPECT_TRUE(out.guards_intact());
    EXPECT_TRUE(workspace.guards_intact());
    std::vector<double> result;
    const auto* values = reinterpret_cast<const Out*>(out.data());
    for (size_t i = 0; i < size; ++i) {
      if constexpr (std::is_same_v<Out, float>) {
        result.push_back(values[i]);
      } else {
        result.push_back(ToFloat(values[i]));
      }
    }
    return result;
  }

  Gradient gradient_;
  ConvSpec spec_;
};

// The largest error, in parts of the largest sum of the sizes of the products:
// the algorithm's errors are relative to all pixels of a tile.
double Error(const std::vector<double>& got, const std::vector<double>& want,
             const std::vector<double>& sizes) {
  EXPECT_EQ(got.size(), want.size());
  double most = 0;
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    most = std::max(most, std::abs(got[i] - want[i]));
  }
  return most / std::ranges::max(sizes);
}

constexpr Gradient kAll[] = {Gradient::kNone, Gradient::kInput,
                             Gradient::kFilter};
constexpr const char* kTiles[] = {"winograd_2x2", "winograd_4x4"};
constexpr double kError = 2e-6;

TEST_F(WinogradTest, ComputesWhatANaiveConvolutionComputes) {
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const int64_t before = Pick(0, 4);
    const ConvGeometry conv = {
        .batch = Pick(1, 3),
        .in_channels = Pick(1, 40),
        .out_channels = Pick(1, 40),
        .window = SquareWindow(Pick(3, 11), Pick(3, 11), before, Pick(0, 4))};
    ASSERT_TRUE(HasWinograd(conv));
    const Tensors given = DrawTensors(conv);
    const int threads = static_cast<int>(Pick(1, 3));
    SCOPED_TRACE(fmt::format(
        "{} images of {} x {}, {} before, {} to {} channels, {} threads",
        conv.batch, conv.window[0].input, conv.window[1].input, before,
        conv.in_channels, conv.out_channels, threads));
    for (const Gradient gradient : kAll) {
      const auto want = Naive(conv, gradient, given, false);
      const auto sizes = Naive(conv, gradient, given, true);
      Runner runner(conv, gradient, threads);
      for (const char* tile : kTiles) {
        EXPECT_LT(Error(runner.Run<float>(given, tile), want, sizes), kError)
            << tile;
        EXPECT_LT(Error(runner.Run<BFloat16>(given, tile), want, sizes),
                  gradient == Gradient::kFilter ? kError : 4e-3)
            << tile;
      }
    }
  }
}

// Several teams of threads with several blocks each.
TEST_F(WinogradTest, ComputesManyTilesInBlocksOfItsTeams) {
  const ConvGeometry conv = {.batch = 2,
                             .in_channels = 19,
                             .out_channels = 70,
                             .window = SquareWindow(79, 37, 1, 1)};
  const Tensors given = DrawTensors(conv);
  for (const Gradient gradient : kAll) {
    const auto want = Naive(conv, gradient, given, false);
    const auto sizes = Naive(conv, gradient, given, true);
    for (const char* tile : kTiles) {
      const auto one = Runner(conv, gradient, 1).Run<float>(given, tile);
      const auto three = Runner(conv, gradient, 3).Run<float>(given, tile);
      EXPECT_LT(Error(one, want, sizes), kError) << tile;
      EXPECT_LT(Error(three, want, sizes), kError) << tile;
      if (gradient != Gradient::kFilter) {
        EXPECT_EQ(one, three) << tile;
      }
    }
  }
}

// Filters so large that all threads share a block.
TEST_F(WinogradTest, SharesBlocksAmongThreadsWhereFiltersAreLarge) {
  const ConvGeometry conv = {.batch = 2,
                             .in_channels = 136,
                             .out_channels = 128,
                             .window = SquareWindow(5, 5, 1, 1)};
  const Tensors given = DrawTensors(conv);
  for (const Gradient gradient : kAll) {
    const auto want = Naive(conv, gradient, given, false);
    const auto sizes = Naive(conv, gradient, given, true);
    for (const char* tile : kTiles) {
      const auto got = Runner(conv, gradient, 2).Run<float>(given, tile);
      EXPECT_LT(Error(got, want, sizes), kError) << tile;
    }
  }
}

// winograd.h states the factors.
TEST_F(WinogradTest, ErrsLittleMoreThanTheDirectAlgorithm) {
  const ConvGeometry conv = {.batch = 2,
                             .in_channels = 64,
                             .out_channels = 64,
                             .window = SquareWindow(16, 16, 1, 1)};
  const Tensors given = DrawTensors(conv);
  for (const Gradient gradient : kAll) {
    const auto want = Naive(conv, gradient, given, false);
    const auto sizes = Naive(conv, gradient, given, true);
    Runner runner(conv, gradient, 2);
    const double direct =
        Error(runner.Run<float>(given, "direct"), want, sizes);
    EXPECT_GT(direct, 0);
    for (const char* tile : kTiles) {
      const double factor =
          Error(runner.Run<float>(given, tile), want, sizes) / direct;
      EXPECT_LT(factor, 12) << tile;
      RecordProperty(fmt::format("{} {}", tile, static_cast<int>(gradient)),
                     fmt::format("{:.2f}", factor));
    }
  }
}

TEST_F(WinogradTest, IsForSquaresOfThreeOnly) {
  const ConvGeometry conv = {.window = SquareWindow(8, 8, 1, 1)};
  EXPECT_TRUE(HasWinograd(conv));
  const auto refuses = [&](const auto& change) {
    ConvGeometry other = conv;
    change(other);
    return !HasWinograd(other);
  };
  EXPECT_TRUE(refuses([](ConvGeometry& c) { c.window[0].size = 1; }));
  EXPECT_TRUE(refuses([](ConvGeometry& c) { c.window[1].stride = 2; }));
  EXPECT_TRUE(refuses([](ConvGeometry& c) { c.window[1].dilation = 2; }));
  EXPECT_TRUE(refuses([](ConvGeometry& c) { c.groups = 2; }));
  EXPECT_TRUE(
      refuses([](ConvGeometry& c) { c.window.push_back({.size = 3}); }));
}

}  // namespace
}  // namespace spillway
