#include "executor/plan/lifetimes.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
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

using testing::IsFetched;
using testing::LeastCases;
using testing::NaiveLife;
using testing::NaiveLiveBytes;
using testing::NumCases;
using testing::PlanCase;
using testing::RandomPlanCase;
using testing::ToyOps;
using testing::UsesOf;

constexpr uint64_t kLifetimeCases = NumCases(1000);

ExecutionPlan RandomSteps(uint64_t seed) {
  const PlanCase plan_case =
      RandomPlanCase({.seed = seed, .nodes = 30, .collectives = seed % 2 == 1});
  return LowerToSteps(plan_case.graph, ToyOps(), plan_case.schedule,
                      plan_case.options)
      .plan;
}

bool Reads(const Step& step, BufferId buffer) {
  return std::ranges::count(step.inputs, buffer) > 0;
}

// Where compute first waits for a result of the copy to the device or of the
// collective: the end of that step, or the end of the plan if there is no such
// step.
int64_t WaitedFor(const ExecutionPlan& plan, StepId copy) {
  const auto steps = static_cast<int64_t>(plan.steps.size());
  for (int64_t at = copy.value() + 1; at < steps; ++at) {
    const Step& step = plan.steps[StepId(static_cast<size_t>(at))];
    if (step.lane != Lane::kCompute) continue;
    for (const BufferId output : plan.steps[copy].outputs) {
      if (Reads(step, output)) return at + 1;
    }
  }
  return steps;
}

// Nothing for a buffer whose end cannot be chosen.
std::optional<DelayableEnd> NaiveDelayable(const ExecutionPlan& plan,
                                           BufferId buffer) {
  if (IsResident(plan.buffers[buffer]) || IsFetched(plan, buffer)) return {};
  DelayableEnd end{.buffer = buffer};
  for (const StepId use : UsesOf(plan, buffer)) {
    const Step& step = plan.steps[use];
    end.soonest = use.value() + 1;
    end.latest = std::max(end.latest, end.soonest);
    const bool is_collective = step.lane == Lane::kCommunication;
    if (is_collective && (Reads(step, buffer) || step.workspace == buffer)) {
      end.latest = std::max(end.latest, WaitedFor(plan, use));
      end.copy = use;
    }
    if (!Reads(step, buffer)) continue;
    if (step.kind == StepKind::kSwapOut) {
      end.latest = static_cast<int64_t>(plan.steps.size());
      end.copy = use;
    } else if (step.kind == StepKind::kSwapIn) {
      end.latest = std::max(end.latest, WaitedFor(plan, use));
      end.copy = use;
    }
  }
  if (!end.copy.is_valid()) return {};
  return end;
}

TEST(FindLifetimesTest, EqualsTheNaiveLifetimes) {
  int delayable = 0;
  for (uint64_t seed = 0; seed < kLifetimeCases; ++seed) {
    SCOPED_TRACE(seed);
    const ExecutionPlan plan = RandomSteps(seed);
    const Lifetimes lifetimes = FindLifetimes(plan);
    ASSERT_EQ(lifetimes.of.size(), plan.buffers.size());
    size_t found = 0;
    for (const BufferId id : plan.buffers.ids()) {
      EXPECT_EQ(lifetimes.of[id], NaiveLife(plan, id))
          << "buffer " << id.value();
      const std::optional<DelayableEnd> naive = NaiveDelayable(plan, id);
      const auto end =
          std::ranges::find(lifetimes.delayable, id, &DelayableEnd::buffer);
      ASSERT_EQ(end != lifetimes.delayable.end(), naive.has_value())
          << "buffer " << id.value();
      if (!naive) continue;
      ++found;
      EXPECT_EQ(end->copy, naive->copy) << "buffer " << id.value();
      EXPECT_EQ(end->soonest, naive->soonest) << "buffer " << id.value();
      EXPECT_EQ(end->latest, naive->latest) << "buffer " << id.value();
    }
    EXPECT_EQ(lifetimes.delayable.size(), found);
    EXPECT_TRUE(
        std::ranges::is_sorted(lifetimes.delayable, {}, &DelayableEnd::copy));
    delayable += static_cast<int>(found);
  }
  EXPECT_GT(delayable, LeastCases(1000));
}

TEST(KeepForCollectivesTest, TwoAreInFlight) {
  int kept = 0;
  for (uint64_t seed = 1; seed < kLifetimeCases; seed += 2) {
    SCOPED_TRACE(seed);
    const ExecutionPlan plan = RandomSteps(seed);
    const Lifetimes soonest = FindLifetimes(plan);
    Lifetimes lifetimes = soonest;
    KeepForCollectives(plan, lifetimes);
    std::vector<int64_t> collectives;
    for (const StepId id : plan.steps.ids()) {
      if (plan.steps[id].lane == Lane::kCommunication) {
        collectives.push_back(id.value());
      }
    }
    for (const BufferId id : plan.buffers.ids()) {
      const std::optional<DelayableEnd> end = NaiveDelayable(plan, id);
      int64_t expected = soonest.of[id].end;
      const bool is_kept =
          end && plan.steps[end->copy].lane == Lane::kCommunication;
      if (is_kept) {
        // Steps until two more have been issued.
        int64_t at = end->copy.value() + 1;
        const auto steps = static_cast<int64_t>(plan.steps.size());
        for (int more = 0; at < steps; ++at) {
          more += static_cast<int>(std::ranges::count(collectives, at));
          if (more == 2) break;
        }
        expected = std::min(std::max(expected, at), end->latest);
        ++kept;
      }
      EXPECT_EQ(lifetimes.of[id].end, expected) << "buffer " << id.value();
      EXPECT_EQ(
          std::ranges::count(lifetimes.delayable, id, &DelayableEnd::buffer),
          end && !is_kept ? 1 : 0);
    }
  }
  EXPECT_GT(kept, LeastCases(500));
}

// A plan, its lifetimes at the soonest, and after DelayEnds.
struct Delayed {
  ExecutionPlan plan = {};
  Space space = Space::kDevice;
  int64_t target_bytes = 0;
  Lifetimes soonest = {};
  Lifetimes lifetimes = {};

  int64_t LiveBytes(const Lifetimes& of, int64_t at) const {
    const int64_t residents = space == Space::kDevice ? plan.resident_bytes : 0;
    return NaiveLiveBytes(plan, space, of.of, at) - residents;
  }
};

Delayed RandomDelayed(uint64_t seed) {
  std::mt19937_64 random(seed);
  Delayed result{.plan = RandomSteps(seed),
                 .space = random() % 4 == 0 ? Space::kHost : Space::kDevice};
  result.soonest = FindLifetimes(result.plan);
  int64_t most = 0;
  for (size_t at = 0; at < result.plan.steps.size(); ++at) {
    most = std::max(most,
                    result.LiveBytes(result.soonest, static_cast<int64_t>(at)));
  }
  // From too little memory to enough for everything.
  result.target_bytes =
      static_cast<int64_t>(random() % (2 * static_cast<uint64_t>(most) + 1));
  result.lifetimes = result.soonest;
  DelayEnds(result.plan, result.space, result.target_bytes, result.lifetimes);
  return result;
}

TEST(DelayEndsTest, MovesOnlyTheDelayableEndsOfTheSpace) {
  for (uint64_t seed = 0; seed < kLifetimeCases; ++seed) {
    SCOPED_TRACE(seed);
    const Delayed delayed = RandomDelayed(seed);
    IdMap<BufferId, Interval> expected = delayed.soonest.of;
    for (const DelayableEnd& end : delayed.soonest.delayable) {
      if (delayed.plan.buffers[end.buffer].space != delayed.space) continue;
      const int64_t chosen = delayed.lifetimes.of[end.buffer].end;
      EXPECT_GE(chosen, end.soonest);
      EXPECT_LE(chosen, end.latest);
      expected[end.buffer].end = chosen;
    }
    EXPECT_EQ(delayed.lifetimes.of, expected);
  }
}

TEST(DelayEndsTest, StaysWithinTheTargetWhereTheSoonestEndsDo) {
  int tight = 0;
  for (uint64_t seed = 0; seed < kLifetimeCases; ++seed) {
    SCOPED_TRACE(seed);
    const Delayed delayed = RandomDelayed(seed);
    for (size_t step = 0; step < delayed.plan.steps.size(); ++step) {
      const auto at = static_cast<int64_t>(step);
      const int64_t least = delayed.LiveBytes(delayed.soonest, at);
      const int64_t live = delayed.LiveBytes(delayed.lifetimes, at);
      EXPECT_LE(live, std::max(least, delayed.target_bytes)) << "step " << at;
      tight += least > delayed.target_bytes ? 1 : 0;
    }
  }
  EXPECT_GT(tight, LeastCases(1000));
}

// At each early end: without the last copy that ended there, more than the
// target would be live.
TEST(DelayEndsTest, EndsNothingBeforeItMust) {
  int early = 0;
  for (uint64_t seed = 0; seed < kLifetimeCases; ++seed) {
    SCOPED_TRACE(seed);
    const Delayed delayed = RandomDelayed(seed);
    for (size_t place = 0; place < delayed.plan.steps.size(); ++place) {
      const auto at = static_cast<int64_t>(place);
      BufferId last;
      for (const DelayableEnd& end : delayed.soonest.delayable) {
        const bool is_here =
            delayed.lifetimes.of[end.buffer].end == at && end.latest > at &&
            delayed.plan.buffers[end.buffer].space == delayed.space;
        if (is_here) last = end.buffer;
      }
      if (!last.is_valid()) continue;
      ++early;
      const int64_t bytes =
          (delayed.plan.buffers[last].bytes + 255) / 256 * 256;
      EXPECT_GT(delayed.LiveBytes(delayed.lifetimes, at) + bytes,
                delayed.target_bytes)
          << "step " << at;
    }
  }
  EXPECT_GT(early, LeastCases(300));
}

TEST(DelayEndsTest, WaitsForEarlierCopiesFirst) {
  int pairs = 0;
  for (uint64_t seed = 0; seed < kLifetimeCases; ++seed) {
    SCOPED_TRACE(seed);
    const Delayed delayed = RandomDelayed(seed);
    for (const DelayableEnd& late : delayed.soonest.delayable) {
      if (delayed.plan.buffers[late.buffer].space != delayed.space) continue;
      const int64_t end = delayed.lifetimes.of[late.buffer].end;
      if (end == late.latest) continue;
      for (const DelayableEnd& early : delayed.soonest.delayable) {
        if (delayed.plan.buffers[early.buffer].space != delayed.space ||
            early.copy >= late.copy || early.soonest > end) {
          continue;
        }
        ++pairs;
        EXPECT_LE(delayed.lifetimes.of[early.buffer].end, end);
      }
    }
  }
  EXPECT_GT(pairs, LeastCases(100));
}

TEST(DelayEndsTest, WithRoomForEverythingEveryEndIsAtItsLatest) {
  for (uint64_t seed = 0; seed < NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    const ExecutionPlan plan = RandomSteps(seed);
    Lifetimes lifetimes = FindLifetimes(plan);
    DelayEnds(plan, Space::kDevice, int64_t{1} << 40, lifetimes);
    DelayEnds(plan, Space::kHost, int64_t{1} << 40, lifetimes);
    for (const DelayableEnd& end : lifetimes.delayable) {
      EXPECT_EQ(lifetimes.of[end.buffer].end, end.latest);
    }
  }
}

}  // namespace
}  // namespace spillway
