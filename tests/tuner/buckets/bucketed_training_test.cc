// Training over buckets, bitwise the same as by one session that has all
// programs from the start, and as by separate sessions.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/buckets/bucket_net.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/buckets/bucketed_session.h"

namespace spillway {
namespace {

using testing::Below;
using testing::BucketNet;
using testing::BucketOptions;
using testing::BucketTraining;
using testing::BuildBucketNet;
using testing::ExpectSameTraining;
using testing::IsOk;
using testing::NumCases;
using testing::StressSetting;
using testing::TrainAllPrograms;
using testing::TrainBuckets;
using testing::TrainByCopies;
using ::testing::UnorderedElementsAreArray;
using testing::UnswappedBucketBytes;

ShapeBucketSpec SpecOf(const BucketNet& net, const BucketKey& default_key) {
  return {.program_of =
              [net](const BucketKey& key) { return BuildBucketNet(net, key); },
          .default_key = default_key};
}

// `steps` of them, each at least once if there are enough.
std::vector<BucketKey> RandomOrder(std::vector<BucketKey> keys, int steps,
                                   std::mt19937_64& random) {
  std::vector<BucketKey> order;
  for (int i = 0; i < steps; ++i) {
    const auto n = static_cast<int64_t>(keys.size());
    order.push_back(keys[static_cast<size_t>(i < n ? i : Below(random, n))]);
  }
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(
        order[i - 1],
        order[static_cast<size_t>(Below(random, static_cast<int64_t>(i)))]);
  }
  return order;
}

int64_t SwapOuts(const Session& session) {
  int64_t swap_outs = 0;
  for (int i = 0; i < session.num_programs(); ++i) {
    swap_outs += session.copies(i)->swap_outs;
  }
  return swap_outs;
}

// Momentum with plenty of memory; Adam, swapping.
class BucketedTrainingTest : public ::testing::TestWithParam<bool> {};

TEST_P(BucketedTrainingTest, IsBitwiseThatOfOneSessionAndOfSeparateSessions) {
  const std::vector<BucketKey> keys = {{12, 12}, {20, 16}, {16, 24}};
  BucketNet net = {.optimizer = Momentum{.learning_rate = 0.05}};
  std::optional<int64_t> budget;
  StepOptions options = BucketOptions();
  if (GetParam()) {
    net.optimizer = Adam{};
    budget = UnswappedBucketBytes(net, keys[2]) * 85 / 100;
    options = BucketOptions(budget);
    options.lms.recompute.policy = RecomputePolicy::kOff;
  }
  std::mt19937_64 random(1);
  const std::vector<BucketKey> order = RandomOrder(keys, 14, random);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<BucketedSession> session,
                       BucketedSession::Create(SpecOf(net, keys[0]), options));
  ASSERT_OK_AND_ASSIGN(const BucketTraining got,
                       TrainBuckets(*session, net, order));
  ASSERT_OK_AND_ASSIGN(const BucketTraining one,
                       TrainAllPrograms(net, order, options));
  ExpectSameTraining(got, one);
  ASSERT_OK_AND_ASSIGN(Session * inner, session->session());
  // Random numbers of dropout depend on the program's step number.
  EXPECT_EQ(inner->step_numbers().size(), 3u);
  int64_t steps = 0;
  for (const int64_t number : inner->step_numbers()) steps += number;
  EXPECT_EQ(steps, 14);
  ASSERT_OK_AND_ASSIGN(const BucketTraining copied,
                       TrainByCopies(net, order, options));
  ExpectSameTraining(got, copied);
  const MemoryUse memory = inner->memory();
  EXPECT_EQ(memory.measured_device_bytes, memory.predicted_device_bytes);
  EXPECT_EQ(SwapOuts(*inner) > 0, budget.has_value());
  if (budget) {
    EXPECT_LE(memory.predicted_device_bytes, *budget);
  }
}

INSTANTIATE_TEST_SUITE_P(WithPlentyAndSwapping, BucketedTrainingTest,
                         ::testing::Bool());

// Random sizes, some planned ahead, the default any of them, constants that
// only some buckets have, budgets from the least that works to plenty.
TEST(RandomBucketsTest, TrainBitwiseAsOneSessionAndAsSeparateSessions) {
  const auto first =
      static_cast<uint64_t>(StressSetting("SPILLWAY_BUCKET_SEED", 1));
  for (uint64_t seed = first; seed < first + NumCases(3); ++seed) {
    SCOPED_TRACE("SPILLWAY_BUCKET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    BucketNet net = {.batch = 1 + Below(random, 4),
                     .constant_every = Below(random, 3)};
    if (Below(random, 2) == 0) net.optimizer = Adam{};
    std::vector<BucketKey> keys;
    int64_t most = 0;
    while (keys.size() < static_cast<size_t>(2 + Below(random, 3))) {
      const BucketKey key = {6 + Below(random, 15), 6 + Below(random, 15)};
      if (std::ranges::count(keys, key) != 0) continue;
      keys.push_back(key);
      most = std::max(most, UnswappedBucketBytes(net, key));
    }
    StepOptions options = BucketOptions();
    if (Below(random, 3) != 0) {
      options.device_memory = most * (88 + Below(random, 20)) / 100;
    }
    ShapeBucketSpec spec = SpecOf(net, keys[0]);
    for (const BucketKey& key : keys) {
      if (Below(random, 3) == 0) spec.keys.push_back(key);
    }
    const std::vector<BucketKey> order = RandomOrder(keys, 10, random);
    const auto session = BucketedSession::Create(spec, options);
    ASSERT_THAT(session, IsOk());
    ASSERT_OK_AND_ASSIGN(const BucketTraining got,
                         TrainBuckets(**session, net, order));
    EXPECT_THAT((*session)->keys(), UnorderedElementsAreArray(keys));
    ASSERT_OK_AND_ASSIGN(const BucketTraining one,
                         TrainAllPrograms(net, order, options));
    ExpectSameTraining(got, one);
    ASSERT_OK_AND_ASSIGN(const BucketTraining copied,
                         TrainByCopies(net, order, options));
    ExpectSameTraining(got, copied);
    ASSERT_OK_AND_ASSIGN(Session * inner, (*session)->session());
    const MemoryUse memory = inner->memory();
    if (options.device_memory) {
      EXPECT_LE(memory.predicted_device_bytes, *options.device_memory);
    }
    EXPECT_LE(memory.measured_device_bytes, memory.predicted_device_bytes);
  }
}

}  // namespace
}  // namespace spillway
