#include "ops/gpu/thread/divide.cuh"

#include <cstdint>

#include "base/random.h"
#include "gtest/gtest.h"

namespace spillway::gpu {
namespace {

void ExpectDivides(int64_t n, int64_t a) {
  const Divisor divisor(n);
  ASSERT_EQ(divisor.Divide(a), a / n) << a << " / " << n;
  if (a >> 31 == 0) {
    ASSERT_EQ(divisor.Divide(static_cast<int>(a)), a / n) << a << " / " << n;
  }
  int64_t quotient = a;
  ASSERT_EQ(divisor.Split(quotient), a % n) << a << " % " << n;
  ASSERT_EQ(quotient, a / n);
}

TEST(DivisorTest, DividesAroundEveryMultipleThatIsHard) {
  constexpr int64_t kEnd = int64_t{1} << 31;
  for (int64_t n = 1; n < 3000; ++n) {
    const int64_t last = kEnd / n * n;
    for (const int64_t a : {int64_t{0}, n - 1, n, 5 * n - 1, 5 * n, last - n,
                            last - 1, last, kEnd - 1, kEnd, kEnd * n + 1}) {
      ExpectDivides(n, a);
    }
  }
}

TEST(DivisorTest, DividesByLargeNumbers) {
  for (int bits = 1; bits < 40; ++bits) {
    const int64_t power = int64_t{1} << bits;
    for (const int64_t n : {power - 1, power, power + 1}) {
      for (const int64_t a : {int64_t{0}, n - 1, n, n + 1, 2 * n - 1, 2 * n}) {
        ExpectDivides(n, a);
      }
    }
  }
}

TEST(DivisorTest, DividesRandomNumbers) {
  for (uint64_t i = 0; i < 100'000; ++i) {
    const auto words = Philox4x32(17, i);
    const int64_t n = 1 + (words[0] >> (1 + words[2] % 31));
    ExpectDivides(n, words[1] >> (words[3] % 32));
  }
}

}  // namespace
}  // namespace spillway::gpu
