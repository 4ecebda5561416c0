#include "executor/serial_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StepId Id(size_t i) { return StepId(i); }

// A step that reads and writes the given buffers.
struct StepSpec {
  Lane lane = Lane::kCompute;
  std::vector<size_t> waits = {};
  std::vector<size_t> inputs = {};
  std::vector<size_t> outputs = {};
};

ExecutionPlan MakePlan(const std::vector<StepSpec>& specs,
                       size_t num_buffers = 0) {
  ExecutionPlan plan;
  plan.buffers.resize(num_buffers);
  for (const StepSpec& spec : specs) {
    Step step = {.lane = spec.lane};
    for (const size_t i : spec.waits) step.waits.push_back(Id(i));
    for (const size_t i : spec.inputs) step.inputs.emplace_back(i);
    for (const size_t i : spec.outputs) step.outputs.emplace_back(i);
    plan.steps.push_back(step);
  }
  return plan;
}

// The example of serial_order.h, and a copy that no step waits for.
ExecutionPlan ExamplePlan() {
  return MakePlan({{},                                        // a
                   {.lane = Lane::kCopyOut, .waits = {0}},    // o
                   {},                                        // b
                   {},                                        // c
                   {.waits = {1}},                            // d
                   {.lane = Lane::kCopyOut, .waits = {2}}});  // unawaited
}

TEST(SerialOrderTest, LateCopiesRunWhenTheyAreAwaitedOrAtTheEnd) {
  EXPECT_THAT(MakeSerialOrder(ExamplePlan(), CopyTime::kLate).steps,
              ElementsAre(Id(0), Id(2), Id(3), Id(1), Id(4), Id(5)));
}

TEST(SerialOrderTest, EarlyCopiesRunAsSoonAsTheyMay) {
  EXPECT_THAT(MakeSerialOrder(ExamplePlan(), CopyTime::kEarly).steps,
              ElementsAre(Id(0), Id(1), Id(2), Id(5), Id(3), Id(4)));
}

TEST(SerialOrderTest, ALateCopyBringsItsWaitsAndTheCopiesBeforeItOnItsLane) {
  const ExecutionPlan plan = MakePlan({{},
                                       {.lane = Lane::kCopyOut, .waits = {0}},
                                       {.lane = Lane::kCopyIn},
                                       {.lane = Lane::kCopyIn, .waits = {1}},
                                       {},
                                       {.waits = {3}}});
  EXPECT_THAT(MakeSerialOrder(plan, CopyTime::kLate).steps,
              ElementsAre(Id(0), Id(4), Id(2), Id(1), Id(3), Id(5)));
}

TEST(SerialOrderTest, ABufferLivesFromItsFirstWriteToItsLastUse) {
  ExecutionPlan plan = MakePlan({{.outputs = {0}},
                                 {.inputs = {0}, .outputs = {1}},
                                 {.inputs = {3}, .outputs = {0, 2}},
                                 {.inputs = {0}, .outputs = {3}}},
                                5);
  plan.buffers[BufferId(3)].kind = BufferKind::kVariable;
  plan.steps[Id(1)].workspace = BufferId(4);
  plan.buffer_of = IdMap<ValueId, BufferId>(1, BufferId(1));
  plan.fetches = {ValueId(0)};
  const SerialOrder order = MakeSerialOrder(plan, CopyTime::kLate);
  EXPECT_THAT(order.begins[Id(0)], ElementsAre(BufferId(0)));
  EXPECT_THAT(order.begins[Id(1)], ElementsAre(BufferId(1), BufferId(4)));
  EXPECT_THAT(order.begins[Id(2)], ElementsAre(BufferId(2)));
  EXPECT_THAT(order.begins[Id(3)], IsEmpty());
  EXPECT_THAT(order.ends[Id(0)], IsEmpty());
  EXPECT_THAT(order.ends[Id(1)], ElementsAre(BufferId(4)));
  EXPECT_THAT(order.ends[Id(2)], ElementsAre(BufferId(2)));
  EXPECT_THAT(order.ends[Id(3)], ElementsAre(BufferId(0)));
}

TEST(SerialOrderTest, WhenABufferLivesDependsOnTheOrder) {
  // Step 1 copies buffer 0 out; step 2 is the last to compute with it.
  const ExecutionPlan plan =
      MakePlan({{.outputs = {0}},
                {.lane = Lane::kCopyOut, .waits = {0}, .inputs = {0}},
                {.inputs = {0}}},
               1);
  EXPECT_THAT(MakeSerialOrder(plan, CopyTime::kLate).ends[Id(1)],
              ElementsAre(BufferId(0)));
  EXPECT_THAT(MakeSerialOrder(plan, CopyTime::kEarly).ends[Id(2)],
              ElementsAre(BufferId(0)));
}

// Random lanes and waits.
ExecutionPlan RandomPlan(uint64_t seed) {
  uint64_t counter = 0;
  const auto below = [&](size_t limit) {
    return Philox4x32(seed, counter++)[0] % limit;
  };
  std::vector<StepSpec> specs(3 + below(40));
  for (size_t i = 0; i < specs.size(); ++i) {
    specs[i].lane =
        below(2) == 0 ? Lane::kCompute : static_cast<Lane>(below(kNumLanes));
    for (size_t j = below(3); i > 0 && j > 0; --j) {
      specs[i].waits.push_back(below(i));
    }
  }
  return MakePlan(specs);
}

// needs[s][t]: s runs after t in every order, by lanes and waits.
std::vector<std::vector<bool>> NaiveNeeds(const ExecutionPlan& plan) {
  const size_t size = plan.steps.size();
  std::vector<std::vector<bool>> needs(size, std::vector<bool>(size, false));
  for (size_t s = 0; s < size; ++s) {
    for (size_t t = 0; t < s; ++t) {
      const bool direct =
          plan.steps[Id(s)].lane == plan.steps[Id(t)].lane ||
          std::ranges::count(plan.steps[Id(s)].waits, Id(t)) > 0;
      if (!direct) continue;
      needs[s][t] = true;
      for (size_t u = 0; u < t; ++u) {
        if (needs[t][u]) needs[s][u] = true;
      }
    }
  }
  return needs;
}

// Compares with the definition: how many compute steps can run before a copy.
TEST(SerialOrderTest, RandomPlansAreOrderedAsLateAndAsEarlyAsCanBe) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const ExecutionPlan plan = RandomPlan(seed);
    const auto needs = NaiveNeeds(plan);
    for (const CopyTime copies : {CopyTime::kLate, CopyTime::kEarly}) {
      const std::vector<StepId> order = MakeSerialOrder(plan, copies).steps;
      ASSERT_EQ(order.size(), plan.steps.size());
      std::vector<bool> done(order.size(), false);
      size_t computed = 0;
      for (const StepId id : order) {
        ASSERT_FALSE(done[id.index()]);
        size_t least = 0;  // compute steps that it needs
        size_t most = 0;   // that do not need it
        for (size_t s = 0; s < order.size(); ++s) {
          if (needs[id.index()][s]) {
            ASSERT_TRUE(done[s]);
          }
          if (plan.steps[Id(s)].lane != Lane::kCompute) continue;
          least += needs[id.index()][s] ? 1 : 0;
          most += needs[s][id.index()] ? 0 : 1;
        }
        done[id.index()] = true;
        if (plan.steps[id].lane == Lane::kCompute) {
          ++computed;
        } else {
          ASSERT_EQ(computed, copies == CopyTime::kLate ? most : least);
        }
      }
    }
  }
}

}  // namespace
}  // namespace spillway
