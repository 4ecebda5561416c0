#include "executor/plan/choose_schedule.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "executor/plan/assign_buffers.h"
#include "fmt/format.h"
#include "graph/order/memory_order.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"

namespace spillway {
namespace {

using testing::LeastCases;
using testing::NumCases;
using testing::PlanCase;
using testing::RandomPlanCase;
using testing::ToyOps;

// Device bytes, then host bytes.
using Need = std::pair<int64_t, int64_t>;

Schedule ScheduleOf(const Graph& graph, std::vector<NodeId> order) {
  Schedule schedule{.order = std::move(order),
                    .step_of = IdMap<NodeId, int32_t>(graph.num_nodes(), -1)};
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    schedule.step_of[schedule.order[i]] = static_cast<int32_t>(i);
  }
  return schedule;
}

int64_t Aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

// The most bytes that are live at one node of the order. AssignBuffers says
// which values share a buffer; the rest is counted here.
class NaiveNeed {
 public:
  NaiveNeed(const PlanCase& plan_case, const Schedule& schedule)
      : case_(plan_case),
        schedule_(schedule),
        buffers_(AssignBuffers(plan_case.graph, kOps, schedule,
                               plan_case.options.residents, "",
                               plan_case.options.fetches)) {}

  Need Find() {
    FindLives();
    Need most = {case_.options.residents.bytes, 0};
    for (int32_t at = 0; at < NumNodes(); ++at) {
      const NodeId id = schedule_.order[static_cast<size_t>(at)];
      if (IsResidentNode(case_.graph.node(id), kOps)) continue;
      Need live = {case_.options.residents.bytes +
                       Aligned(case_.options.workspace_bytes[id]),
                   0};
      for (size_t i = 0; i < lives_.size(); ++i) {
        const Buffer& buffer = buffers_.buffers[BufferId(i)];
        if (lives_[i].first > at || lives_[i].second < at ||
            IsResident(buffer)) {
          continue;
        }
        (buffer.space == Space::kDevice ? live.first : live.second) +=
            Aligned(buffer.bytes);
      }
      most.first = std::max(most.first, live.first);
      most.second = std::max(most.second, live.second);
    }
    return most;
  }

 private:
  int32_t NumNodes() const {
    return static_cast<int32_t>(schedule_.order.size());
  }

  void FindLives() {
    lives_.assign(buffers_.buffers.size(), {NumNodes(), -1});
    for (const NodeId id : schedule_.order) {
      const Node& node = case_.graph.node(id);
      if (node.op == kSwapOut && !HasBuffer(node.outputs[0])) continue;
      for (const ValueId input : node.inputs) Touch(input, id);
      for (const ValueId output : node.outputs) Touch(output, id);
    }
    for (const ValueId fetch : case_.options.fetches) {
      lives_[buffers_.buffer_of[fetch].index()].second = NumNodes();
    }
  }

  // False for the output of a feed's SwapOut, which has no step.
  bool HasBuffer(ValueId value) const {
    return buffers_.buffer_of[value].is_valid();
  }

  void Touch(ValueId value, NodeId node) {
    if (!HasBuffer(value)) return;
    auto& [first, last] = lives_[buffers_.buffer_of[value].index()];
    first = std::min(first, schedule_.step_of[node]);
    last = std::max(last, schedule_.step_of[node]);
  }

  static const OpRegistry kOps;
  const PlanCase& case_;
  const Schedule& schedule_;
  const BufferAssignment buffers_;
  std::vector<std::pair<int32_t, int32_t>> lives_;  // first and last node
};
const OpRegistry NaiveNeed::kOps = ToyOps();

enum class Orders : uint8_t {
  kAll,         // that the edges allow
  kReadyRanks,  // of these, those of ReadyRank: copies as soon as they may
                // start
};

// Calls visit(order) for every order of the kept nodes; residents, which run no
// kernel, come first.
class AllOrders {
 public:
  AllOrders(const PlanCase& plan_case, Orders which)
      : case_(plan_case), which_(which) {}

  void ForEach(const std::function<void(const std::vector<NodeId>&)>& visit) {
    order_.clear();
    placed_ = IdMap<NodeId, bool>(case_.graph.num_nodes(), false);
    for (const NodeId id : case_.schedule.order) {
      if (IsResidentNode(case_.graph.node(id), ops_)) Place(id);
    }
    Extend(visit);
  }

 private:
  void Place(NodeId id) {
    order_.push_back(id);
    placed_[id] = true;
  }

  void Extend(const std::function<void(const std::vector<NodeId>&)>& visit) {
    if (order_.size() == case_.schedule.order.size()) return visit(order_);
    for (const NodeId id : MayBeNext()) {
      Place(id);
      Extend(visit);
      placed_[id] = false;
      order_.pop_back();
    }
  }

  std::vector<NodeId> MayBeNext() const {
    std::vector<NodeId> ready;
    int least_rank = std::numeric_limits<int>::max();
    for (const NodeId id : case_.schedule.order) {
      bool is_ready = !placed_[id];
      ForEachPredecessor(case_.graph, id, [&](NodeId before) {
        is_ready = is_ready && placed_[before];
      });
      if (!is_ready) continue;
      least_rank = std::min(least_rank, Rank(id));
      ready.push_back(id);
    }
    if (which_ == Orders::kReadyRanks) {
      std::erase_if(ready, [&](NodeId id) { return Rank(id) > least_rank; });
    }
    return ready;
  }

  int Rank(NodeId id) const { return ReadyRank(case_.graph.node(id), ops_); }

  const OpRegistry ops_ = ToyOps();
  const PlanCase& case_;
  const Orders which_;
  std::vector<NodeId> order_;
  IdMap<NodeId, bool> placed_;
};

std::vector<NodeId> WithoutResidents(const Graph& graph,
                                     std::vector<NodeId> order) {
  const OpRegistry ops = ToyOps();
  std::erase_if(order,
                [&](NodeId id) { return IsResidentNode(graph.node(id), ops); });
  return order;
}

absl::StatusOr<Schedule> Choose(const PlanCase& plan_case, ScheduleKind kind) {
  return ChooseSchedule(plan_case.graph, ToyOps(), plan_case.keep, kind,
                        plan_case.options);
}

// How far the chosen orders are from the best ones.
struct Tally {
  int graphs = 0;
  int with_a_choice = 0;  // not all orders need the same
  int optimal = 0;        // of those
  int creation_optimal = 0;
  double excess = 0;  // over the optimum, as a fraction of it, summed
  double worst = 0;
  int64_t orders = 0;

  void Add(int64_t least, int64_t most, int64_t chosen, int64_t creation) {
    ++graphs;
    if (least == most) return;
    ++with_a_choice;
    optimal += chosen == least ? 1 : 0;
    creation_optimal += creation == least ? 1 : 0;
    const double share =
        static_cast<double>(chosen - least) / static_cast<double>(least);
    excess += share;
    worst = std::max(worst, share);
  }

  void Print() const {
    fmt::print(
        "{} graphs, {} orders; {} graphs have a choice: the chosen order is "
        "the best for {} ({:.1f} %), creation order for {} ({:.1f} %); the "
        "chosen one needs {:.2f} % more on average, {:.0f} % at worst\n",
        graphs, orders, with_a_choice, optimal, 100.0 * optimal / with_a_choice,
        creation_optimal, 100.0 * creation_optimal / with_a_choice,
        100 * excess / with_a_choice, 100 * worst);
  }
};

// The needs of all orders of one case.
struct Range {
  Need least = {std::numeric_limits<int64_t>::max(), 0};
  Need most = {};
  int64_t orders = 0;
  bool has_chosen = false;  // the chosen order is among them
};

Range TryOrders(const PlanCase& plan_case, Orders which,
                const Schedule& chosen) {
  Range range;
  const std::vector<NodeId> steps =
      WithoutResidents(plan_case.graph, chosen.order);
  AllOrders(plan_case, which).ForEach([&](const std::vector<NodeId>& order) {
    const Schedule schedule = ScheduleOf(plan_case.graph, order);
    const Need need = NaiveNeed(plan_case, schedule).Find();
    range.least = std::min(range.least, need);
    range.most = std::max(range.most, need);
    range.has_chosen =
        range.has_chosen ||
        std::ranges::equal(steps, std::span(order).last(steps.size()));
    ++range.orders;
  });
  return range;
}

Tally CompareWithOrders(bool swaps, Orders which) {
  Tally tally;
  for (uint64_t seed = 0; seed < NumCases(2000); ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case = RandomPlanCase(
        {.seed = seed, .nodes = 8, .swaps = swaps, .random_order = false});
    const auto chosen = Choose(plan_case, ScheduleKind::kMemory);
    EXPECT_THAT(chosen, testing::IsOk());
    if (!chosen.ok()) break;
    const Range range = TryOrders(plan_case, which, *chosen);
    const Need need = NaiveNeed(plan_case, *chosen).Find();
    const Need creation = NaiveNeed(plan_case, plan_case.schedule).Find();
    EXPECT_TRUE(range.has_chosen);
    EXPECT_GE(need, range.least);
    EXPECT_LE(need, creation);
    tally.Add(range.least.first, range.most.first, need.first, creation.first);
    tally.orders += range.orders;
  }
  tally.Print();
  EXPECT_GT(tally.with_a_choice, LeastCases(500));
  EXPECT_GT(tally.optimal, tally.creation_optimal);
  return tally;
}

TEST(ChooseScheduleTest, IsMostlyTheBestOfAllOrdersOfSmallGraphs) {
  const Tally tally = CompareWithOrders(/*swaps=*/false, Orders::kAll);
  EXPECT_GT(tally.optimal, 0.8 * tally.with_a_choice);
  EXPECT_LT(tally.excess, 0.05 * tally.with_a_choice);
}

TEST(ChooseScheduleTest, IsMostlyTheBestOrderThatStartsCopiesAtOnce) {
  const Tally tally = CompareWithOrders(/*swaps=*/true, Orders::kReadyRanks);
  EXPECT_GT(tally.optimal, 0.8 * tally.with_a_choice);
  EXPECT_LT(tally.excess, 0.05 * tally.with_a_choice);
}

// Swap-ins without a trigger all run at once: an order that delays them may
// need much less.
TEST(ChooseScheduleTest, IsMostlyTheBestOfAllOrdersOfSmallGraphsThatSwap) {
  const Tally tally = CompareWithOrders(/*swaps=*/true, Orders::kAll);
  EXPECT_GT(tally.optimal, 0.7 * tally.with_a_choice);
  EXPECT_LT(tally.excess, 0.1 * tally.with_a_choice);
}

TEST(ChooseScheduleTest, LeastDeviceBytesIsTheNaiveBound) {
  for (uint64_t seed = 0; seed < NumCases(300); ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 30});
    EXPECT_EQ(LeastDeviceBytes(plan_case.graph, ToyOps(), plan_case.schedule,
                               plan_case.options),
              NaiveNeed(plan_case, plan_case.schedule).Find().first);
  }
}

TEST(ChooseScheduleTest, TakesTheBestOfThreeOrdersAndCreationOrderIfItIsOne) {
  const OpRegistry ops = ToyOps();
  int forward_is_best = 0;
  int backward_is_best = 0;
  for (uint64_t seed = 0; seed < NumCases(300); ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case =
        RandomPlanCase({.seed = seed, .nodes = 40, .random_order = false});
    const MemoryOrderInputs inputs = {.graph = plan_case.graph,
                                      .registry = ops,
                                      .schedule = plan_case.schedule,
                                      .fetches = plan_case.options.fetches};
    const auto need = [&](const IdMap<NodeId, int32_t>& preference) {
      const auto schedule =
          MakeSchedule(plan_case.graph, ops, plan_case.keep, preference);
      return NaiveNeed(plan_case, *schedule).Find();
    };
    const Need creation = need({});
    const Need forward = need(ForwardMemoryOrder(inputs));
    const Need backward = need(BackwardMemoryOrder(inputs));
    const Need least = std::min({creation, forward, backward});
    ASSERT_OK_AND_ASSIGN(const Schedule chosen,
                         Choose(plan_case, ScheduleKind::kMemory));
    // Less if late aliases of copies happen to help.
    EXPECT_LE(NaiveNeed(plan_case, chosen).Find(), least);
    if (creation == least) {
      EXPECT_EQ(chosen.order, plan_case.schedule.order);
    }
    forward_is_best += forward < std::min(creation, backward) ? 1 : 0;
    backward_is_best += backward < std::min(creation, forward) ? 1 : 0;
  }
  EXPECT_GT(forward_is_best, LeastCases(10));
  EXPECT_GT(backward_is_best, LeastCases(10));
}

// The alias waits for the copy, and so would all work issued after it.
TEST(ChooseScheduleTest, AnAliasOfACopyFromTheHostComesRightBeforeItsReader) {
  Graph graph("late alias");
  const auto add = [&](const char* name, std::string_view op, int64_t bytes,
                       std::vector<ValueId> inputs) {
    const bool copies = op == kSwapOut || op == kSwapIn;
    return graph.output(graph.AddNode(
        {.name = name,
         .op = std::string(op),
         .inputs = std::move(inputs),
         .outputs = {{.dtype = DType::kUInt8, .shape = {1024 * bytes}}},
         .placement = copies ? Placement::kHost : Placement::kDevice}));
  };
  const ValueId x = add("x", "F", 400, {});
  const ValueId p1 = add("p1", "F", 1000, {});
  const ValueId p2 = add("p2", "F", 1000, {});
  const ValueId q1 = add("q1", "F", 100, {p1});
  const ValueId q2 = add("q2", "F", 100, {p2});
  const ValueId trigger = add("trigger", "F", 100, {q1, q2});
  const ValueId copy =
      add("in", kSwapIn, 400, {add("out", kSwapOut, 400, {x})});
  graph.AddControlEdge(graph.value(trigger).producer,
                       graph.value(copy).producer);
  const ValueId alias = add("alias", "Alias", 400, {copy});
  const ValueId k1 = add("k1", "F", 150, {trigger});
  const ValueId k2 = add("k2", "F", 200, {k1});
  const ValueId reader = add("reader", "F", 100, {k2, alias});

  const OpRegistry ops = ToyOps();
  ASSERT_OK_AND_ASSIGN(const Schedule creation, MakeSchedule(graph, ops, {}));
  const IdMap<NodeId, int32_t> forward = ForwardMemoryOrder(
      {.graph = graph, .registry = ops, .schedule = creation, .fetches = {}});
  ASSERT_OK_AND_ASSIGN(const Schedule early,
                       MakeSchedule(graph, ops, {}, forward));
  ASSERT_OK_AND_ASSIGN(
      const Schedule chosen,
      ChooseSchedule(graph, ops, {}, ScheduleKind::kMemory, {}));
  EXPECT_NE(chosen.order, creation.order);
  const auto steps_between = [&](const Schedule& schedule) {
    return schedule.step_of[graph.value(reader).producer] -
           schedule.step_of[graph.value(alias).producer];
  };
  EXPECT_EQ(steps_between(early), 3);
  EXPECT_EQ(steps_between(chosen), 1);
}

TEST(ChooseScheduleTest, CreationIsCreationOrder) {
  for (uint64_t seed = 0; seed < NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case =
        RandomPlanCase({.seed = seed, .nodes = 30, .random_order = false});
    ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                         Choose(plan_case, ScheduleKind::kCreation));
    EXPECT_EQ(schedule.order, plan_case.schedule.order);
    EXPECT_EQ(schedule.step_of, plan_case.schedule.step_of);
  }
}

TEST(ChooseScheduleTest, BudgetsDoNotChangeTheOrder) {
  for (uint64_t seed = 0; seed < NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 30});
    ASSERT_OK_AND_ASSIGN(const Schedule free,
                         Choose(plan_case, ScheduleKind::kMemory));
    for (const int64_t budget : {0, 2000, 1'000'000}) {
      plan_case.options.device_budget_bytes = budget;
      plan_case.options.host_budget_bytes = budget / 2;
      ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                           Choose(plan_case, ScheduleKind::kMemory));
      EXPECT_EQ(schedule.order, free.order);
    }
  }
}

TEST(ChooseScheduleTest, ACycleIsAnError) {
  PlanCase plan_case;
  Graph& graph = plan_case.graph;
  const NodeId x = graph.AddNode({.name = "x", .op = "F"});
  const NodeId y =
      graph.AddNode({.name = "y", .op = "F", .control_inputs = {x}});
  graph.AddControlEdge(y, x);
  for (const ScheduleKind kind :
       {ScheduleKind::kCreation, ScheduleKind::kMemory}) {
    EXPECT_THAT(Choose(plan_case, kind),
                testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                  ::testing::HasSubstr("cycle")));
  }
}

}  // namespace
}  // namespace spillway
