// Plan files with recomputation.
#include "tuner/saved_clones.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "graph/order/schedule.h"
#include "lms/lms.h"
#include "nlohmann/json.hpp"
#include "tests/lms/recompute/clone_ops.h"
#include "tests/support/status_matchers.h"
#include "tuner/saved_plan.h"

namespace spillway {
namespace {

using testing::AddTo;
using testing::CloneOps;
using testing::FindIn;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using Json = nlohmann::ordered_json;

constexpr auto kBad = absl::StatusCode::kInvalidArgument;

// Three cheap layers; y reads w, which u overwrites.
Graph CheapStep() {
  Graph graph("step");
  AddTo(graph, "w", "Variable", {});
  AddTo(graph, "x", "F", {});
  AddTo(graph, "y", "Pure", {"x", "w"});
  AddTo(graph, "y2", "Pure", {"y"});
  AddTo(graph, "n", "Norm", {"y2"});
  AddTo(graph, "last", "F", {"n"});
  AddTo(graph, "opt/gradients/d", "F", {"last"});
  AddTo(graph, "opt/gradients/b3", "F", {"opt/gradients/d", "n"});
  AddTo(graph, "opt/gradients/b2", "F", {"opt/gradients/b3", "y2"});
  AddTo(graph, "opt/gradients/b1", "F", {"opt/gradients/b2", "y", "x", "n:1"});
  AddTo(graph, "opt/u", "Update", {"w", "opt/gradients/d"}, {"y"});
  return graph;
}

class SavedClonesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LmsOptions options = LmsOptions::V1();
    options.recompute.policy = RecomputePolicy::kCheap;
    ASSERT_OK_AND_ASSIGN(plan_.recipe.recompute,
                         PlanRecompute(options, ops_, graph_));
    ASSERT_OK_AND_ASSIGN(const Graph recomputed,
                         WithClones(plan_.recipe.recompute, ops_, graph_));
    ASSERT_EQ(plan_.recipe.recompute.clones.size(), 3);
    ASSERT_EQ(plan_.recipe.recompute.orders.size(), 1);
    ASSERT_OK_AND_ASSIGN(plan_.recipe.swaps,
                         PlanSwaps(options, ops_, recomputed));
    plan_.recipe.options = options;
    plan_.recipe.name = "v1";
    plan_.fingerprint = GraphFingerprint(graph_);
    ASSERT_OK_AND_ASSIGN(const Graph edited,
                         ApplyRecipe(plan_.recipe, ops_, graph_));
    ASSERT_OK_AND_ASSIGN(plan_.recipe.schedule, MakeSchedule(edited, ops_, {}));
    ASSERT_OK_AND_ASSIGN(text_, FormatSavedPlan(plan_, graph_, ops_));
    ASSERT_OK_AND_ASSIGN(good_, ParseJson(text_, "plan"));
  }

  absl::StatusOr<SavedPlan> Parse(const Json& json) const {
    return ParseSavedPlan(json.dump(), "plan.json", graph_, ops_);
  }

  void ExpectRefused(const std::string& what,
                     const std::function<void(Json&)>& damage) const {
    SCOPED_TRACE(what);
    Json spoilt = good_;
    damage(spoilt);
    EXPECT_THAT(Parse(spoilt), StatusIs(kBad, HasSubstr(what)));
  }

  const OpRegistry ops_ = CloneOps();
  const Graph graph_ = CheapStep();
  SavedPlan plan_;
  std::string text_;
  Json good_;
};

TEST_F(SavedClonesTest, AreTheSameAfterReading) {
  ASSERT_OK_AND_ASSIGN(const SavedPlan parsed, Parse(good_));
  EXPECT_EQ(FormatSavedPlan(parsed, graph_, ops_).value(), text_);
  EXPECT_THAT(ApplyRecipe(parsed.recipe, ops_, graph_), IsOk());
}

TEST_F(SavedClonesTest, EveryFieldIsNeededAndChecked) {
  for (const std::string field : {"node", "inputs", "triggers", "readers"}) {
    ExpectRefused(field,
                  [&](Json& json) { json["recomputes"][0].erase(field); });
    ExpectRefused(field, [&](Json& json) { json["recomputes"][0][field] = 7; });
  }
  ExpectRefused("recomputes", [](Json& json) { json.erase("recomputes"); });
  ExpectRefused("recompute_orders",
                [](Json& json) { json.erase("recompute_orders"); });
  ExpectRefused("node",
                [](Json& json) { json["recomputes"][0]["node"] = "nowhere"; });
  ExpectRefused("value", [](Json& json) {
    json["recomputes"][0]["inputs"][0]["value"] = "nowhere:0";
  });
  ExpectRefused("output", [](Json& json) {
    json["recomputes"][1]["inputs"][0].erase("output");
  });
  ExpectRefused("clone", [](Json& json) {
    json["recomputes"][1]["inputs"][0]["clone"] = -1;
  });
  ExpectRefused("more", [](Json& json) { json["recomputes"][0]["more"] = 1; });
  ExpectRefused("before", [](Json& json) {
    json["recompute_orders"][0]["before"] = "nowhere";
  });
}

TEST_F(SavedClonesTest, ThatWouldChangeTheResultAreRefused) {
  const std::string field = "recomputes";
  ExpectRefused(field, [](Json& json) {  // a clone that is not there
    json["recomputes"][1]["inputs"][0]["clone"] = 9;
  });
  ExpectRefused(field, [](Json& json) {  // itself
    json["recomputes"][1]["inputs"][0]["clone"] = 1;
  });
  ExpectRefused(field, [](Json& json) {  // another value of the same type
    json["recomputes"][0]["inputs"][0]["value"] = "y2:0";
  });
  ExpectRefused(field, [](Json& json) {  // Norm must not run twice
    json["recomputes"][2].erase("output");
  });
  ExpectRefused(field, [](Json& json) {  // its statistics cannot be derived
    json["recomputes"][2]["output"] = 1;
  });
  ExpectRefused(field, [](Json& json) {  // a reader that is left out
    json["recomputes"][2]["readers"] = Json::array();
  });
  ExpectRefused(field, [](Json& json) {  // a cycle
    json["recomputes"][2]["triggers"] = {"opt/gradients/b3"};
  });
  ExpectRefused(field, [](Json& json) {  // it might read the updated w
    json["recompute_orders"] = Json::array();
  });
}

TEST_F(SavedClonesTest, VersionOneHasNone) {
  SavedPlan plan = {.fingerprint = plan_.fingerprint};
  ASSERT_OK_AND_ASSIGN(plan.recipe.schedule, MakeSchedule(graph_, ops_, {}));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       FormatSavedPlan(plan, graph_, ops_));
  ASSERT_OK_AND_ASSIGN(Json json, ParseJson(text, "plan"));
  json["version"] = 1;
  EXPECT_THAT(Parse(json),
              StatusIs(kBad, HasSubstr("unknown field \"recomputes\"")));
  json.erase("recomputes");
  json.erase("recompute_orders");
  EXPECT_THAT(Parse(json), IsOk());
}

// Algorithms round differently.
TEST_F(SavedClonesTest, HaveTheAlgorithmsOfTheirOriginals) {
  StepRecipe recipe = plan_.recipe;
  ASSERT_OK_AND_ASSIGN(const Graph edited, ApplyRecipe(recipe, ops_, graph_));
  recipe.algorithms = AlgorithmNames(edited.num_nodes());
  recipe.algorithms[FindIn(edited, "y")] = "fast";
  EXPECT_THAT(CheckFits(recipe, edited),
              StatusIs(kBad, HasSubstr("lms/recompute_y has another algorithm "
                                       "than y")));
  recipe.algorithms[FindIn(edited, "lms/recompute_y")] = "fast";
  EXPECT_THAT(CheckFits(recipe, edited), IsOk());
}

}  // namespace
}  // namespace spillway
