// VerifyPlan against a naive twin on damaged plans of random graphs.
#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "executor/plan/verify_plan.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/plan_damage.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"
#include "tests/support/toy_ops.h"

namespace spillway {
namespace {

using testing::Damage;
using testing::Damages;
using testing::IsOk;
using testing::NaiveFault;
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
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 30});
    ASSERT_OK_AND_ASSIGN(const Patient patient, NewPatient(plan_case, seed));
    ASSERT_EQ(NaiveFault(patient.plan, patient.graph, ops), "");
    ASSERT_THAT(VerifyPlan(patient.plan, patient.graph, ops), IsOk());
  }
}

class VerifyPlanDamageTest : public ::testing::TestWithParam<Damage> {};

TEST_P(VerifyPlanDamageTest, IsJudgedAsTheNaiveTwinDoes) {
  const OpRegistry ops = ToyOps();
  const Damage& damage = GetParam();
  int inflicted = 0;
  int faults = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 28});
    ASSERT_OK_AND_ASSIGN(Patient patient, NewPatient(plan_case, seed));
    if (patient.plan.steps.empty() || !damage.inflict(patient)) continue;
    ++inflicted;
    const std::string fault = NaiveFault(patient.plan, patient.graph, ops);
    faults += fault.empty() ? 0 : 1;
    const absl::Status verdict = VerifyPlan(patient.plan, patient.graph, ops);
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
