#include "executor/plan/place_buffers.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "executor/plan/lower.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"

namespace spillway {
namespace {

using testing::NaiveLife;
using testing::NaiveLiveBytes;
using testing::NumCases;
using testing::PlanCase;
using testing::RandomPlanCase;
using testing::ShareBytes;
using testing::ToyOps;

constexpr uint64_t kPlacedCases = NumCases(150);

// Steps without offsets, and the lifetimes of their buffers.
struct Unplaced {
  ExecutionPlan plan = {};
  Lifetimes lifetimes = {};
};

Unplaced RandomUnplaced(uint64_t seed) {
  const PlanCase plan_case =
      RandomPlanCase({.seed = seed, .nodes = 28, .collectives = seed % 2 == 1});
  Unplaced result{.plan = LowerToSteps(plan_case.graph, ToyOps(),
                                       plan_case.schedule, plan_case.options)
                              .plan};
  result.lifetimes = FindLifetimes(result.plan);
  return result;
}

ExecutionPlan Place(Unplaced unplaced, Space space,
                    std::optional<int64_t> budget_bytes) {
  PlaceBuffers(space, budget_bytes, unplaced.lifetimes, unplaced.plan);
  return unplaced.plan;
}

int64_t BytesOf(const ExecutionPlan& plan, Space space) {
  return space == Space::kDevice ? plan.device_bytes : plan.host_bytes;
}

int64_t BoundOf(const ExecutionPlan& plan, Space space) {
  return space == Space::kDevice ? plan.device_lower_bound_bytes
                                 : plan.host_lower_bound_bytes;
}

int64_t NaiveBound(const ExecutionPlan& plan, Space space) {
  IdMap<BufferId, Interval> lives;
  for (const BufferId buffer : plan.buffers.ids()) {
    lives.push_back(NaiveLife(plan, buffer));
  }
  int64_t most = space == Space::kDevice ? plan.resident_bytes : 0;
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    most = std::max(
        most, NaiveLiveBytes(plan, space, lives, static_cast<int64_t>(at)));
  }
  return most;
}

// Buffers of the space that the test places.
std::vector<BufferId> Placed(const ExecutionPlan& plan, Space space) {
  std::vector<BufferId> ids;
  for (const BufferId id : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[id];
    if (buffer.space == space && !IsResident(buffer)) ids.push_back(id);
  }
  return ids;
}

void ExpectPlaced(const ExecutionPlan& plan, Space space) {
  int64_t end = space == Space::kDevice ? plan.resident_bytes : 0;
  const int64_t base = end;
  for (const BufferId a : Placed(plan, space)) {
    const Buffer& buffer = plan.buffers[a];
    EXPECT_GE(buffer.offset, base) << buffer.name;
    EXPECT_EQ(buffer.offset % kBufferAlignment, 0) << buffer.name;
    end = std::max(end, buffer.offset + buffer.bytes);
    const Interval needed = NaiveLife(plan, a);
    EXPECT_EQ(buffer.live.begin, needed.begin) << buffer.name;
    EXPECT_GE(buffer.live.end, needed.end) << buffer.name;
    for (const BufferId b : Placed(plan, space)) {
      if (a == b || !Overlap(buffer.live, plan.buffers[b].live)) continue;
      EXPECT_FALSE(ShareBytes(buffer, plan.buffers[b]))
          << buffer.name << ", " << plan.buffers[b].name;
    }
  }
  EXPECT_EQ(BytesOf(plan, space), end);
}

class PlaceBuffersTest : public ::testing::TestWithParam<Space> {};

TEST_P(PlaceBuffersTest, TheBoundIsTheNaiveOneAndThePlacementNotBelowIt) {
  const Space space = GetParam();
  int at_bound = 0;
  for (uint64_t seed = 0; seed < kPlacedCases; ++seed) {
    SCOPED_TRACE(seed);
    const Unplaced unplaced = RandomUnplaced(seed);
    const int64_t bound = NaiveBound(unplaced.plan, space);
    EXPECT_EQ(LiveBytesBound(unplaced.plan, space, unplaced.lifetimes), bound);
    const ExecutionPlan plan = Place(unplaced, space, {});
    EXPECT_EQ(BoundOf(plan, space), bound);
    // The topmost buffer need not be padded.
    EXPECT_GT(BytesOf(plan, space), bound - kBufferAlignment);
    at_bound += BytesOf(plan, space) <= bound ? 1 : 0;
  }
  EXPECT_GT(at_bound, static_cast<int>(kPlacedCases * 9 / 10));
}

TEST_P(PlaceBuffersTest, BuffersThatLiveTogetherLieApart) {
  for (uint64_t seed = 0; seed < kPlacedCases; ++seed) {
    SCOPED_TRACE(seed);
    const Unplaced unplaced = RandomUnplaced(seed);
    const ExecutionPlan least = Place(unplaced, GetParam(), {});
    ExpectPlaced(least, GetParam());
    const int64_t bytes = BytesOf(least, GetParam());
    for (const int64_t budget : {bytes / 2, bytes, bytes * 5 / 4, bytes * 3}) {
      SCOPED_TRACE(budget);
      ExpectPlaced(Place(unplaced, GetParam(), budget), GetParam());
    }
  }
}

TEST_P(PlaceBuffersTest, KeepsEveryBudgetFromTheSmallestOn) {
  for (uint64_t seed = 0; seed < kPlacedCases; ++seed) {
    SCOPED_TRACE(seed);
    const Unplaced unplaced = RandomUnplaced(seed);
    const int64_t smallest =
        BytesOf(Place(unplaced, GetParam(), {}), GetParam());
    for (int64_t budget = smallest / 2; budget < 3 * smallest;
         budget += 1 + smallest / 7) {
      const int64_t bytes =
          BytesOf(Place(unplaced, GetParam(), budget), GetParam());
      if (budget < smallest) {
        EXPECT_EQ(bytes, smallest) << budget;
      } else {
        EXPECT_LE(bytes, budget);
      }
    }
  }
}

TEST_P(PlaceBuffersTest, UsesRoomToWaitAsLateAsItCan) {
  for (uint64_t seed = 0; seed < kPlacedCases; ++seed) {
    SCOPED_TRACE(seed);
    const Unplaced unplaced = RandomUnplaced(seed);
    const ExecutionPlan plan = Place(unplaced, GetParam(), int64_t{1} << 40);
    for (const DelayableEnd& end : unplaced.lifetimes.delayable) {
      const Buffer& buffer = plan.buffers[end.buffer];
      if (buffer.space != GetParam()) continue;
      EXPECT_EQ(buffer.live.end, end.latest) << buffer.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spaces, PlaceBuffersTest,
                         ::testing::Values(Space::kDevice, Space::kHost),
                         [](const ::testing::TestParamInfo<Space>& instance) {
                           return instance.param == Space::kDevice ? "Device"
                                                                   : "Host";
                         });

}  // namespace
}  // namespace spillway
