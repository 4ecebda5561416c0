#include "tuner/search/edit_for_swaps.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/well_known_ops.h"
#include "lms/apply_swap_plan.h"
#include "lms/verify_swaps.h"
#include "tests/support/status_matchers.h"
#include "tests/support/toy_ops.h"
#include "tests/tuner/found_swaps.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::CaseOf;
using ::testing::ElementsAre;
using testing::IsOk;
using testing::LinkOf;
using testing::ModelOf;
using testing::MovableGaps;
using ::testing::SizeIs;
using testing::ToyOps;
using testing::TunerCase;

std::vector<std::string> NamesInOrder(const Graph& edited,
                                      const Schedule& schedule) {
  std::vector<std::string> names;
  for (const NodeId id : schedule.order) names.push_back(edited.node(id).name);
  return names;
}

TEST(EditForSwapsTest, OneCopyOutServesTheGapsOfOneValue) {
  // w is read by a, c and e.
  Graph graph("two gaps");
  const TensorType type{.dtype = DType::kUInt8, .shape = {1000}};
  const auto add = [&](const char* name, std::vector<ValueId> inputs) {
    return graph.output(graph.AddNode({.name = name,
                                       .op = "F",
                                       .inputs = std::move(inputs),
                                       .outputs = {type}}));
  };
  const ValueId w = add("w", {});
  const ValueId a = add("a", {w});
  const ValueId b = add("b", {a});
  const ValueId c = add("c", {b, w});
  const ValueId d = add("d", {c});
  add("e", {d, w});
  const TunerCase tuner_case =
      CaseOf(std::move(graph), ToyOps(), 10, LinkOf(1));
  const StepModel model = ModelOf(tuner_case);
  ASSERT_THAT(model.gaps, SizeIs(2));
  const SwapEdit edit =
      EditForSwaps(tuner_case.graph, tuner_case.ops, tuner_case.schedule, model,
                   testing::FoundFor(model, {1, 1}, {2, 4}));
  ASSERT_THAT(edit.swaps.swaps, SizeIs(1));
  const Swap& swap = edit.swaps.swaps[0];
  EXPECT_EQ(swap.value, w);
  ASSERT_THAT(swap.swap_ins, SizeIs(2));
  EXPECT_THAT(swap.swap_ins[0].readers, ElementsAre(NodeId(3)));
  EXPECT_THAT(swap.swap_ins[0].triggers, ElementsAre(NodeId(2)));
  EXPECT_THAT(swap.swap_ins[1].readers, ElementsAre(NodeId(5)));
  EXPECT_THAT(swap.swap_ins[1].triggers, ElementsAre(NodeId(4)));
  Graph edited = tuner_case.graph;
  ApplySwapPlan(edit.swaps, edited);
  EXPECT_THAT(NamesInOrder(edited, edit.schedule),
              ElementsAre("w", "lms/swapout_w_0", "a", "b", "lms/swapin_w_0",
                          "c", "d", "lms/swapin_w_0_1", "e"));
  // With only the second gap, a and c read w itself.
  const SwapEdit one =
      EditForSwaps(tuner_case.graph, tuner_case.ops, tuner_case.schedule, model,
                   testing::FoundFor(model, {0, 1}, {-1, 4}));
  ASSERT_THAT(one.swaps.swaps, SizeIs(1));
  ASSERT_THAT(one.swaps.swaps[0].swap_ins, SizeIs(1));
  EXPECT_THAT(one.swaps.swaps[0].swap_ins[0].readers, ElementsAre(NodeId(5)));
  // With only the first gap, both later readers use the copy.
  const SwapEdit first =
      EditForSwaps(tuner_case.graph, tuner_case.ops, tuner_case.schedule, model,
                   testing::FoundFor(model, {1, 0}, {2, -1}));
  EXPECT_THAT(first.swaps.swaps[0].swap_ins[0].readers,
              ElementsAre(NodeId(3), NodeId(5)));
}

TEST(EditForSwapsTest, CopiesOfOneStepLeaveInTheOrderInWhichTheyWerePlayed) {
  Graph graph("two outputs");
  const TensorType type{.dtype = DType::kUInt8, .shape = {1000}};
  const NodeId both =
      graph.AddNode({.name = "both", .op = "F", .outputs = {type, type}});
  const ValueId a =
      graph.output(graph.AddNode({.name = "a", .op = "F", .outputs = {type}}));
  graph.AddNode({.name = "b",
                 .op = "F",
                 .inputs = {a, graph.output(both, 0), graph.output(both, 1)},
                 .outputs = {type}});
  const TunerCase tuner_case =
      CaseOf(std::move(graph), ToyOps(), 10, LinkOf(1));
  const StepModel model = ModelOf(tuner_case);
  ASSERT_THAT(model.gaps, SizeIs(2));
  const auto order_for = [&](Interval first_ns, Interval second_ns) {
    FoundSwaps found = testing::FoundFor(model, {1, 1}, {1, 1});
    found.played.copy_out_ran_ns = {first_ns, second_ns};
    const SwapEdit edit = EditForSwaps(tuner_case.graph, tuner_case.ops,
                                       tuner_case.schedule, model, found);
    Graph edited = tuner_case.graph;
    ApplySwapPlan(edit.swaps, edited);
    return NamesInOrder(edited, edit.schedule);
  };
  EXPECT_THAT(order_for({10, 1010}, {1010, 2010}),
              ElementsAre("both", "lms/swapout_both_0", "lms/swapout_both_1",
                          "a", "lms/swapin_both_0", "lms/swapin_both_1", "b"));
  EXPECT_THAT(order_for({1010, 2010}, {10, 1010}),
              ElementsAre("both", "lms/swapout_both_1", "lms/swapout_both_0",
                          "a", "lms/swapin_both_0", "lms/swapin_both_1", "b"));
}

TEST(EditForSwapsTest,
     ANameFromBeforeTheGapIsMadeAgainAndALaterOneReadsTheCopy) {
  Graph graph("names");
  const TensorType type{.dtype = DType::kUInt8, .shape = {1000}};
  const auto add = [&](const char* name, const char* op,
                       std::vector<ValueId> inputs) {
    return graph.output(graph.AddNode({.name = name,
                                       .op = op,
                                       .inputs = std::move(inputs),
                                       .outputs = {type}}));
  };
  const ValueId w = add("w", "F", {});
  const ValueId early = add("early", "Alias", {w});
  const ValueId a = add("a", "F", {early});
  const ValueId b = add("b", "F", {a});
  const ValueId c = add("c", "F", {b, early});
  const ValueId late = add("late", "Alias", {w});
  add("d", "F", {c, late});
  const TunerCase tuner_case =
      CaseOf(std::move(graph), ToyOps(), 10, LinkOf(1));
  const StepModel model = ModelOf(tuner_case);
  ASSERT_THAT(model.gaps, SizeIs(2));  // the other is c's
  EXPECT_EQ(model.gaps[0].last, 2);
  const SwapEdit edit =
      EditForSwaps(tuner_case.graph, tuner_case.ops, tuner_case.schedule, model,
                   testing::FoundFor(model, {1, 0}, {3, -1}));
  ASSERT_THAT(edit.swaps.swaps, SizeIs(1));
  EXPECT_EQ(edit.swaps.swaps[0].value, w);
  ASSERT_THAT(edit.swaps.swaps[0].swap_ins, SizeIs(1));
  const SwapIn& swap_in = edit.swaps.swaps[0].swap_ins[0];
  EXPECT_THAT(swap_in.readers, ElementsAre(NodeId(4), NodeId(5)));  // c, late
  EXPECT_THAT(swap_in.aliases, ElementsAre(NodeId(1)));
  Graph edited = tuner_case.graph;
  ApplySwapPlan(edit.swaps, edited);
  EXPECT_THAT(
      NamesInOrder(edited, edit.schedule),
      ElementsAre("w", "lms/swapout_w_0", "early", "a", "b", "lms/swapin_w_0",
                  "lms/alias_early", "c", "late", "d"));
  const StorageMap storages = StorageMap::Of(tuner_case.graph, tuner_case.ops);
  EXPECT_THAT(VerifySwaps(tuner_case.graph, edited,
                          {.plan = edit.swaps, .storages = &storages}),
              IsOk());
}

// Every edge of the edited graph points forward, and each node occurs once.
void ExpectTopological(const Graph& edited, const Schedule& schedule) {
  ASSERT_EQ(schedule.step_of.size(), edited.num_nodes());
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    const Node& node = edited.node(schedule.order[i]);
    EXPECT_EQ(schedule.step_of[node.id], static_cast<int32_t>(i));
    for (const ValueId input : node.inputs) {
      const int32_t before = schedule.step_of[edited.value(input).producer];
      EXPECT_TRUE(before >= 0 && before < static_cast<int32_t>(i)) << node.name;
    }
    for (const NodeId control : node.control_inputs) {
      const int32_t before = schedule.step_of[control];
      EXPECT_TRUE(before >= 0 && before < static_cast<int32_t>(i)) << node.name;
    }
  }
}

// The nearest node before `id` that is not a copy.
NodeId NoCopyBefore(const Graph& edited, const Schedule& schedule, NodeId id) {
  auto place = static_cast<size_t>(schedule.step_of[id]);
  while (edited.node(schedule.order[place]).op == kSwapOut ||
         edited.node(schedule.order[place]).op == kSwapIn) {
    --place;
  }
  return schedule.order[place];
}

class RandomEdit {
 public:
  RandomEdit(TunerCase tuner_case, std::mt19937_64& random)
      : case_(std::move(tuner_case)),
        model_(ModelOf(case_)),
        moved_(testing::ChoiceOf(model_, MovableGaps(model_),
                                 random() | random())),
        back_after_(testing::SomeReturns(model_, moved_, random)) {}

  void Check(int& swap_ins) {
    const SwapEdit edit =
        EditForSwaps(case_.graph, case_.ops, case_.schedule, model_,
                     testing::FoundFor(model_, moved_, back_after_));
    Graph edited = case_.graph;
    ApplySwapPlan(edit.swaps, edited);
    const StorageMap storages = StorageMap::Of(case_.graph, case_.ops);
    EXPECT_THAT(VerifySwaps(case_.graph, edited,
                            {.plan = edit.swaps, .storages = &storages}),
                IsOk());
    EXPECT_EQ(edit.expected_ns.size(), edited.num_nodes());
    ExpectTopological(edited, edit.schedule);
    ExpectOldOrder(edit.schedule);
    ExpectOneSwapAValue(edit.swaps);
    ExpectPlaces(edited, edit, swap_ins);
  }

 private:
  void ExpectOldOrder(const Schedule& schedule) const {
    std::vector<NodeId> old = schedule.order;
    std::erase_if(
        old, [&](NodeId id) { return id.index() >= case_.graph.num_nodes(); });
    EXPECT_EQ(old, case_.schedule.order);
  }

  static void ExpectOneSwapAValue(const SwapPlan& swaps) {
    std::set<ValueId> values;
    for (const Swap& swap : swaps.swaps) {
      EXPECT_TRUE(values.insert(swap.value).second);
    }
  }

  // Each copy out follows its step of the model; the copies back are those of
  // the moved gaps.
  void ExpectPlaces(const Graph& edited, const SwapEdit& edit,
                    int& swap_ins) const {
    std::multiset<std::pair<ValueId, NodeId>> expected;
    std::map<ValueId, NodeId> written;
    for (size_t i = 0; i < moved_.size(); ++i) {
      if (moved_[i] == 0) continue;
      const CopyOut& copy =
          model_.copies[static_cast<size_t>(model_.gaps[i].copy_out)];
      expected.insert({copy.value, NodeOf(back_after_[i])});
      written[copy.value] = NodeOf(copy.written);
    }
    std::multiset<std::pair<ValueId, NodeId>> found;
    for (const Node& node : edited.nodes()) {
      if (node.op != kSwapOut && node.op != kSwapIn) continue;
      const NodeId before = NoCopyBefore(edited, edit.schedule, node.id);
      if (node.op == kSwapOut) {
        EXPECT_EQ(before, written[node.inputs[0]]);
      } else {
        found.insert({edited.producer(node.inputs[0]).inputs[0], before});
        ++swap_ins;
      }
    }
    EXPECT_EQ(found, expected);
  }

  NodeId NodeOf(int32_t step) const {
    return model_.steps[static_cast<size_t>(step)].node;
  }

  const TunerCase case_;
  const StepModel model_;
  const MovedGaps moved_;
  const std::vector<int32_t> back_after_;
};

TEST(EditForSwapsTest, RandomEditsKeepWhatIsComputedAndTheOrder) {
  int swap_ins = 0;
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    RandomEdit(testing::SmallRandomCase(seed, 20), random).Check(swap_ins);
    RandomEdit(testing::RandomCase(seed, 24), random).Check(swap_ins);
  }
  EXPECT_GT(swap_ins, 1500);
}

}  // namespace
}  // namespace spillway
