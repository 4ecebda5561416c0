// Properties that one step of a case cannot show: masks of other steps, seeds
// and the backward pass.
#include "ops/pointwise/dropout.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

constexpr int64_t kElements = 100'000;

struct Draw {
  double rate = 0.5;
  int64_t layer_seed = 0;
  uint64_t session_seed = 0;
  int64_t step = 0;
};

// Dropout of ones.
std::vector<float> Drop(const Draw& draw) {
  const std::vector<TensorType> types = {{.shape = {kElements}}};
  const Attributes attributes = {{"rate", draw.rate},
                                 {"seed", draw.layer_seed}};
  auto kernel = ops::DropoutCpu(
      {.attributes = attributes, .inputs = types, .outputs = types});
  SPILLWAY_CHECK(kernel.ok());
  std::vector<float> y(kElements, 1);
  void* const bytes[] = {y.data()};
  SPILLWAY_CHECK((*kernel)
                     ->Run({.inputs = bytes,
                            .outputs = bytes,
                            .seed = draw.session_seed,
                            .step = &draw.step})
                     .ok());
  return y;
}

int64_t CountEqual(const std::vector<float>& a, const std::vector<float>& b) {
  int64_t equal = 0;
  for (size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  return equal;
}

TEST(Dropout, KeepsTheShareThatTheRateSays) {
  for (const double rate : {0.1, 0.5, 0.8}) {
    const std::vector<float> y = Drop({.rate = rate});
    int64_t kept = 0;
    for (const float element : y) kept += element != 0 ? 1 : 0;
    const double deviation = std::sqrt(kElements * rate * (1 - rate));
    EXPECT_NEAR(static_cast<double>(kept), kElements * (1 - rate),
                5 * deviation);
  }
}

TEST(Dropout, DrawsTheSameMaskForTheSameStep) {
  EXPECT_EQ(Drop({.layer_seed = 3, .session_seed = 5, .step = 7}),
            Drop({.layer_seed = 3, .session_seed = 5, .step = 7}));
}

TEST(Dropout, DrawsIndependentMasksForOtherStepsAndSeeds) {
  const std::vector<float> mask = Drop({});
  const double deviation = std::sqrt(kElements) / 2;
  for (const Draw& other :
       std::vector<Draw>{{.layer_seed = 1}, {.session_seed = 1}, {.step = 1}}) {
    EXPECT_NEAR(static_cast<double>(CountEqual(mask, Drop(other))),
                kElements / 2.0, 5 * deviation);
  }
}

}  // namespace
}  // namespace spillway
