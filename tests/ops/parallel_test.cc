#include "ops/cpu/parallel.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "ops/cpu/storage.h"

namespace spillway {
namespace {

constexpr int64_t kLoopElements = 1003;  // not a multiple of any width

struct LoopResults {
  std::vector<float> wide = std::vector<float>(kLoopElements);
  std::vector<BFloat16> narrow = std::vector<BFloat16>(kLoopElements);

  friend bool operator==(const LoopResults&, const LoopResults&) = default;
};

// Typical operations of kernels: a sum of products that round, a square root, a
// select, a sum, and stores in both dtypes; run(fn, begin, end) runs the loop.
template <typename Run>
LoopResults Compute(Run run) {
  std::vector<float> x;
  for (uint64_t i = 0; i < kLoopElements; ++i) {
    x.push_back(static_cast<float>(NormalAt(1, i)));
  }
  LoopResults results;
  float* wide = results.wide.data();
  BFloat16* narrow = results.narrow.data();
  const auto loop = [=, x = x.data()](int64_t begin, int64_t end) {
    float sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += x[i];
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float y = x[i] * x[i] + 0.7F * x[i] + sum;
      wide[i] = x[i] < 0 ? y : std::sqrt(x[i]) - y;
      narrow[i] = ToBFloat16(wide[i]);
    }
  };
  run(loop, int64_t{0}, kLoopElements);
  return results;
}

LoopResults OfBaseline() {
  return Compute(
      [](const auto& fn, int64_t begin, int64_t end) { fn(begin, end); });
}

TEST(ParallelFor, CallsEveryItemOnceAndNothingForNoItems) {
  for (const int threads : {1, 2, 3}) {
    std::vector<int> calls(1000, 0);
    ParallelFor(threads, 1000, 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++calls[static_cast<size_t>(i)];
    });
    EXPECT_EQ(calls, std::vector<int>(1000, 1));
  }
  ParallelFor(2, 0, 10, [](int64_t, int64_t) { FAIL(); });
}

TEST(ParallelFor, GivesTheSameBitsWithAvx2) {
  if (!HasAvx2()) GTEST_SKIP() << "needs a CPU with AVX2";
  EXPECT_EQ(Compute([](const auto& fn, int64_t begin, int64_t end) {
              RunWithAvx2(fn, begin, end);
            }),
            OfBaseline());
}

TEST(ParallelFor, GivesTheSameBitsWithAvx512) {
  if (!HasAvx512()) GTEST_SKIP() << "needs a CPU with AVX-512";
  EXPECT_EQ(Compute([](const auto& fn, int64_t begin, int64_t end) {
              RunWithAvx512(fn, begin, end);
            }),
            OfBaseline());
}

}  // namespace
}  // namespace spillway
