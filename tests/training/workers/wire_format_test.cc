// Gradients that travel in half the bytes: AllReduce with a wire type, on ranks
// that are threads.
#include "training/workers/wire_format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "graph/builder/builder.h"
#include "ops/all_ops.h"
#include "tests/comm/run_ranks.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::Each;
using testing::IsOk;
using testing::RunRanks;
using Floats = std::vector<float>;

// The nearest number with `bits` of fraction, ties to even: no type's limits.
double RoundTo(int bits, double x) {
  if (x == 0) return 0;
  const double unit = std::exp2(std::ilogb(x) - bits);
  return std::nearbyint(x / unit) * unit;
}

struct Sent {
  Attributes attributes = {};
  float weight = 1;
  Floats x = {};  // of the rank
};

absl::StatusOr<Floats> RunAllReduce(const Sent& sent,
                                    Communicator& communicator) {
  GraphBuilder g(StandardOps(), "wire");
  const auto count = static_cast<int64_t>(sent.x.size());
  const Tensor x = g.Placeholder("x", DType::kFloat32, {count});
  const Tensor weight = g.Placeholder("weight", DType::kFloat32, {});
  const std::vector<Tensor> y =
      g.AddAll(g.Scope("sum"), {.op = "AllReduce",
                                .inputs = {x, weight},
                                .attributes = sent.attributes});
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(auto device, NewDevice("inline", {.threads = 1}));
  std::vector<Program> programs;
  programs.push_back({.graph = std::move(graph), .fetches = {y[0].id()}});
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      Session::Create(std::move(programs), std::move(device),
                      {.threads = 1, .communicator = &communicator}));
  SPILLWAY_ASSIGN_OR_RETURN(
      const StepResult result,
      session->Step({{x.id(), sent.x}, {weight.id(), sent.weight}}));
  SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* const sum,
                            result.tensor(y[0].id()));
  const MemoryUse memory = session->memory();
  EXPECT_EQ(memory.predicted_device_bytes, memory.measured_device_bytes);
  SPILLWAY_ASSIGN_OR_RETURN(const auto span, sum->span<float>());
  return Floats(span.begin(), span.end());
}

// The sums that all ranks have; `x` by rank.
Floats Reduce(const Attributes& attributes, float weight,
              const std::vector<Floats>& x) {
  std::vector<Floats> sums(x.size());
  EXPECT_THAT(RunRanks(static_cast<int>(x.size()), {},
                       [&](Communicator& communicator) -> absl::Status {
                         const auto rank =
                             static_cast<size_t>(communicator.rank());
                         SPILLWAY_ASSIGN_OR_RETURN(
                             sums[rank], RunAllReduce({.attributes = attributes,
                                                       .weight = weight,
                                                       .x = x[rank]},
                                                      communicator));
                         return absl::OkStatus();
                       }),
              Each(IsOk()));
  const auto bytes = std::as_bytes(std::span(sums[0]));
  for (const Floats& sum : sums) {
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(sum)), bytes));
  }
  return sums[0];
}

struct WireCase {
  DType dtype = DType::kFloat16;
  int fraction_bits = 0;
};

class WireFormatTest : public ::testing::TestWithParam<WireCase> {};

TEST_P(WireFormatTest, EachAdditionIsRoundedOnce) {
  constexpr size_t kRanks = 3;
  const int bits = GetParam().fraction_bits;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<Floats> x(kRanks, Floats(257));
  for (Floats& of_rank : x) {
    for (float& element : of_rank) element = normal(random);
  }
  const Floats sum = Reduce({{"wire", GetParam().dtype}}, 0.25F, x);
  for (size_t i = 0; i < sum.size(); ++i) {
    double expected = RoundTo(bits, 0.25F * x[0][i]);
    for (size_t rank = 1; rank < kRanks; ++rank) {
      expected = RoundTo(bits, expected + RoundTo(bits, 0.25F * x[rank][i]));
    }
    // Below 2^-14, float16 has fewer bits.
    EXPECT_NEAR(sum[i], expected, 0x1p-24) << i;
  }
}

TEST_P(WireFormatTest, PowersOfTwoAreExact) {
  Floats powers;
  for (int exponent = -14; exponent <= 13; ++exponent) {
    powers.push_back(std::ldexp(1.F, exponent));
    powers.push_back(-std::ldexp(1.F, exponent));
  }
  const Floats sum =
      Reduce({{"wire", GetParam().dtype}}, 0.5F, {powers, powers});
  EXPECT_EQ(sum, powers);
}

INSTANTIATE_TEST_SUITE_P(, WireFormatTest,
                         ::testing::Values(WireCase{DType::kFloat16, 10},
                                           WireCase{DType::kBFloat16, 7}),
                         [](const auto& info) {
                           return std::string(DTypeName(info.param.dtype));
                         });

// float16 has no numbers below 2^-24; four ranks of 2^-26 have a sum of 2^-24.
TEST(WireScaleTest, KeepsWhatWouldBeZero) {
  const std::vector<Floats> x(4, {0x1p-26F});
  const Attributes half = {{"wire", DType::kFloat16}};
  EXPECT_EQ(Reduce(half, 1, x), Floats{0});
  Attributes scaled = half;
  scaled.Set("wire_scale", 1024.0);
  EXPECT_EQ(Reduce(scaled, 1, x), Floats{0x1p-24F});
}

// 40000 is a float16, 80000 is not; the weight comes before the sum.
TEST(WireScaleTest, ASumIsInfiniteOnlyIfAMeanIs) {
  const std::vector<Floats> x(2, {40000});
  const Attributes half = {{"wire", DType::kFloat16}};
  EXPECT_EQ(Reduce(half, 0.5F, x), Floats{40000});
  EXPECT_EQ(Reduce(half, 1, x), Floats{std::numeric_limits<float>::infinity()});
}

TEST(WireClipTest, LimitsTheRanksOwnElements) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Floats> x = {{1, -9, 4, 0.5F, nan}, {9, -1, 4, 0.5F, 1}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const Floats sum = Reduce({{"wire", dtype}, {"clip", 3.0}}, 0.5F, x);
    EXPECT_EQ(Floats(sum.begin(), sum.end() - 1), (Floats{2, -2, 3, 0.5F}));
    EXPECT_TRUE(std::isnan(sum.back()));
  }
}

}  // namespace
}  // namespace spillway
