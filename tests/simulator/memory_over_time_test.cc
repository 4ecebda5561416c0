#include "simulator/memory_over_time.h"

#include <set>
#include <vector>

#include "tests/executor/plan/plan_cases.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using testing::Compile;
using testing::PlanCase;
using testing::RandomPlanCase;

// A byte per nanosecond in each direction, half of that when both copy.
DeviceProfile TimelineProfile() {
  const LinkDirection link = {.latency_ns = 20,
                              .bytes_per_second = 1e9,
                              .shared_bytes_per_second = 5e8};
  return {.to_host = link, .to_device = link, .issue_ns = 5};
}

bool Uses(const Step& step, BufferId buffer) {
  for (const BufferId input : step.inputs) {
    if (input == buffer) return true;
  }
  for (const BufferId output : step.outputs) {
    if (output == buffer) return true;
  }
  return step.workspace == buffer;
}

bool IsFetched(const ExecutionPlan& plan, BufferId buffer) {
  for (const ValueId value : plan.fetches) {
    if (plan.buffer_of[value] == buffer) return true;
  }
  return false;
}

// Examines all steps, for one buffer and one time.
bool NaivelyOwns(const ExecutionPlan& plan, const SimulatedStep& step,
                 BufferId buffer, int64_t at_ns) {
  if (IsResident(plan.buffers[buffer])) return true;
  bool has_begun = false;
  bool is_used_later = false;
  for (const StepId id : plan.steps.ids()) {
    if (!Uses(plan.steps[id], buffer)) continue;
    has_begun = has_begun || step.ran[id].begin <= at_ns;
    is_used_later = is_used_later || step.ran[id].end > at_ns;
  }
  return has_begun &&
         (is_used_later || (IsFetched(plan, buffer) && at_ns < step.step_ns));
}

std::set<int64_t> EventTimes(const SimulatedStep& step) {
  std::set<int64_t> times = {0};
  for (const Interval& ran : step.ran) {
    times.insert(ran.begin);
    times.insert(ran.end);
  }
  return times;
}

int64_t ValueAt(const std::vector<CounterSample>& samples, int64_t at_ns) {
  int64_t value = 0;
  for (const CounterSample& sample : samples) {
    if (sample.at_ns <= at_ns) value = sample.value;
  }
  return value;
}

// The sum of the owners' bytes; fails if two of them share a byte.
int64_t NaiveBytes(const ExecutionPlan& plan, const SimulatedStep& step,
                   Space space, int64_t at_ns) {
  int64_t bytes = space == Space::kDevice ? plan.resident_bytes : 0;
  std::vector<Interval> taken;
  for (const BufferId id : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[id];
    if (buffer.space != space || IsResident(buffer)) continue;
    if (!NaivelyOwns(plan, step, id, at_ns)) continue;
    const Interval place = {buffer.offset, buffer.offset + buffer.bytes};
    for (const Interval& other : taken) {
      EXPECT_FALSE(Overlap(place, other)) << buffer.name << " at " << at_ns;
    }
    taken.push_back(place);
    bytes += buffer.bytes;
  }
  return bytes;
}

void ExpectTheTwinsBytes(const ExecutionPlan& plan, const SimulatedStep& step,
                         Space space) {
  const std::vector<CounterSample> samples =
      MemoryOverTime(plan, OwnedTimes(plan, step), space);
  for (const int64_t at_ns : EventTimes(step)) {
    EXPECT_EQ(ValueAt(samples, at_ns), NaiveBytes(plan, step, space, at_ns))
        << MemoryCounter(space) << " at " << at_ns;
  }
  EXPECT_LE(PeakOf(samples).value,
            space == Space::kDevice ? plan.device_bytes : plan.host_bytes);
  for (size_t i = 1; i < samples.size(); ++i) {
    EXPECT_LT(samples[i - 1].at_ns, samples[i].at_ns);
    EXPECT_NE(samples[i - 1].value, samples[i].value);
  }
}

TEST(MemoryOverTimeTest, RandomPlansUseTheBytesThatASlowTwinSays) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 20});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(plan_case));
    IdMap<NodeId, int64_t> times;
    for (size_t i = 0; i < plan_case.graph.num_nodes(); ++i) {
      times.push_back(static_cast<int64_t>((seed * 37 + i * 19) % 700));
    }
    const SimulatedStep step =
        SimulateStep(plan, plan_case.graph, times, TimelineProfile());
    ExpectTheTwinsBytes(plan, step, Space::kDevice);
    ExpectTheTwinsBytes(plan, step, Space::kHost);
  }
}

TEST(MemoryOverTimeTest, AChainGrowsAndShrinks) {
  const Graph graph = ChainGraph(3, 1000, false);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  DeviceProfile profile = TimelineProfile();
  profile.issue_ns = 0;
  const SimulatedStep step = SimulateStep(
      plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10), profile);
  // f1, f2, f3, b3 (f3 is freed), b2 (f2 and b3 are freed), b1.
  const std::vector<std::pair<int64_t, int64_t>> expected = {
      {0, 1000}, {10, 2000}, {20, 3000}, {30, 4000}, {50, 3000}, {60, 0}};
  std::vector<std::pair<int64_t, int64_t>> found;
  for (const CounterSample& sample :
       MemoryOverTime(plan, OwnedTimes(plan, step), Space::kDevice)) {
    found.emplace_back(sample.at_ns, sample.value);
  }
  EXPECT_EQ(found, expected);
}

TEST(MemoryOverTimeTest, TheHostHasACounterOnlyWhereItsMemoryIsUsed) {
  for (const bool swapped : {false, true}) {
    const Graph graph = ChainGraph(6, 1000, swapped);
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
    SimulatedStep step =
        SimulateStep(plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                     TimelineProfile());
    AddMemoryCounters(plan, step);
    std::set<std::string> counters;
    for (const CounterSample& sample : step.timeline.counters) {
      counters.insert(sample.counter);
    }
    EXPECT_EQ(counters.size(), swapped ? 2U : 1U);
    EXPECT_EQ(counters.contains("host bytes"), swapped);
    EXPECT_THAT(FormatChromeTrace({{"predicted", &step.timeline}}),
                ::testing::HasSubstr("\"ph\":\"C\",\"name\":\"device bytes\""));
  }
}

}  // namespace
}  // namespace spillway
