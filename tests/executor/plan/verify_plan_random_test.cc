// Compares VerifyPlan with a naive twin on damaged plans of random graphs.
#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/plan/verify_plan.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/plan_damage.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"

namespace spillway {
namespace {

using testing::Damage;
using testing::Damages;
using testing::IsOk;
using testing::NaiveFault;
using testing::NumCases;
using testing::Patient;
using testing::PlanCase;
using testing::RandomPlanCase;
using testing::ToyOps;
using testing::Verdict;

// A plan with the least memory or with some more.
absl::StatusOr<Patient> NewPatient(PlanCase& plan_case, uint64_t seed) {
  SPILLWAY_ASSIGN_OR_RETURN(ExecutionPlan plan, Compile(plan_case));
  if (seed % 2 == 1) {
    plan_case.options.device_budget_bytes = plan.device_bytes + 1024;
    SPILLWAY_ASSIGN_OR_RETURN(plan, Compile(plan_case));
  }
  return Patient{.graph = plan_case.graph,
                 .plan = std::move(plan),
                 .random = std::mt19937_64(seed)};
}

TEST(VerifyPlanRandomTest, GoodPlansAreGood) {
  const OpRegistry ops = ToyOps();
  for (uint64_t seed = 0; seed < NumCases(300); ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase(
        {.seed = seed, .nodes = 30, .collectives = seed % 2 == 1});
    ASSERT_OK_AND_ASSIGN(const Patient patient, NewPatient(plan_case, seed));
    const auto* scratch = &plan_case.options.workspace_bytes;
    ASSERT_EQ(NaiveFault(patient.plan, patient.graph, ops, scratch), "");
    ASSERT_THAT(VerifyPlan(patient.plan, patient.graph, ops, scratch), IsOk());
  }
}

// The toy ops with one definition changed. Planner and VerifyPlan use it; the
// twin, which has the table of toy_ops.h, does not.
OpRegistry OpsWhere(std::string_view op, void (*change)(OpDef&)) {
  const OpRegistry original = ToyOps();
  OpRegistry changed;
  for (const auto& [name, def] : original.ops()) {
    OpDef copy = def;
    if (name == op) change(copy);
    changed.Add(std::move(copy));
  }
  return changed;
}

TEST(VerifyPlanRandomTest, AWrongDefinitionOfAnOpDoesNotFoolTheTwin) {
  const std::vector<std::pair<std::string, OpRegistry>> wrong = {
      {"Update does not say that it overwrites its input",
       OpsWhere("Update", [](OpDef& def) { def.mutates.clear(); })},
      {"Update does not say that its output is its input",
       OpsWhere("Update", [](OpDef& def) { def.alias.clear(); })},
      {"Alias overwrites its input",
       OpsWhere("Alias", [](OpDef& def) { def.mutates = {0}; })},
      {"Update may take over the gradient's bytes",
       OpsWhere("Update",
                [](OpDef& def) {
                  def.alias.clear();
                  def.in_place = {{.input = 1, .output = 0}};
                })},
      {"Alias is computed in place", OpsWhere("Alias", [](OpDef& def) {
         def.in_place = std::exchange(def.alias, {});
       })}};
  const OpRegistry table = ToyOps();
  for (const auto& [name, ops] : wrong) {
    SCOPED_TRACE(name);
    int found = 0;
    for (uint64_t seed = 0; seed < NumCases(60); ++seed) {
      const PlanCase plan_case = RandomPlanCase(
          {.seed = seed, .nodes = 30, .collectives = seed % 2 == 1});
      CompileOptions options = plan_case.options;
      const auto plan =
          CompilePlan(plan_case.graph, ops, plan_case.schedule, options);
      if (!plan.ok() || !VerifyPlan(*plan, plan_case.graph, ops).ok()) continue;
      found += NaiveFault(*plan, plan_case.graph, table).empty() ? 0 : 1;
    }
    EXPECT_GT(found, 0);
  }
}

class VerifyPlanDamageTest : public ::testing::TestWithParam<Damage> {};

TEST_P(VerifyPlanDamageTest, IsJudgedAsTheNaiveTwinDoes) {
  const OpRegistry ops = ToyOps();
  const Damage& damage = GetParam();
  int inflicted = 0;
  int faults = 0;
  for (uint64_t seed = 0; seed < NumCases(150); ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase(
        {.seed = seed, .nodes = 28, .collectives = seed % 2 == 1});
    ASSERT_OK_AND_ASSIGN(Patient patient, NewPatient(plan_case, seed));
    if (patient.plan.steps.empty() || !damage.inflict(patient)) continue;
    ++inflicted;
    const auto* scratch = &plan_case.options.workspace_bytes;
    const std::string fault =
        NaiveFault(patient.plan, patient.graph, ops, scratch);
    faults += fault.empty() ? 0 : 1;
    const absl::Status verdict =
        VerifyPlan(patient.plan, patient.graph, ops, scratch);
    EXPECT_EQ(verdict.ok(), fault.empty())
        << "naive: " << fault << ", VerifyPlan: " << verdict.ToString() << "\n"
        << testing::PlanText(patient.plan);
    if (!verdict.ok()) {
      EXPECT_EQ(verdict.code(), absl::StatusCode::kInternal);
    }
    if (damage.verdict == Verdict::kFaulty) {
      EXPECT_NE(fault, "") << testing::PlanText(patient.plan);
    } else if (damage.verdict == Verdict::kValid) {
      EXPECT_EQ(fault, "") << testing::PlanText(patient.plan);
    }
    if (HasFailure()) break;
  }
  if (testing::kHasSanitizer) return;  // too few cases
  EXPECT_GE(inflicted, 3);
  if (damage.verdict == Verdict::kEither) {
    EXPECT_GT(faults, 0);
    EXPECT_LT(faults, inflicted);
  }
}

INSTANTIATE_TEST_SUITE_P(Random, VerifyPlanDamageTest,
                         ::testing::ValuesIn(Damages()),
                         [](const ::testing::TestParamInfo<Damage>& instance) {
                           std::string name = instance.param.name;
                           std::ranges::replace(name, ' ', '_');
                           std::erase_if(name, [](char c) {
                             return c == '-' || c == '\'';
                           });
                           return name;
                         });

}  // namespace
}  // namespace spillway
