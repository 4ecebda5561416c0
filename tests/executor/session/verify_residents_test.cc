#include "executor/session/verify_residents.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/session/plan_programs.h"
#include "tests/executor/toy_session.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::EvalProgram;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeKernels;
using testing::MakeOps;
using testing::StatusIs;
using testing::TrainProgram;

class VerifyResidentsTest : public ::testing::Test {
 protected:
  // Both have the variable w and a separate constant.
  PlannedPrograms Plan() const {
    std::vector<Program> programs;
    programs.push_back(TrainProgram(ops_).Build());
    programs.push_back(EvalProgram(ops_).Build());
    return PlanPrograms(std::move(programs), DeviceKind::kCpu,
                        {.ops = &ops_, .kernels = &kernels_, .threads = 1})
        .value();
  }

  static Buffer& BufferOf(PlannedPrograms& planned, size_t program,
                          std::string_view value) {
    PlannedProgram& there = planned.programs[program];
    return there.plan
        .buffers[there.plan.buffer_of[*there.graph.FindValue(value)]];
  }

  static Resident& Listed(PlannedPrograms& planned, const std::string& name,
                          size_t program) {
    for (Resident& resident : planned.residents) {
      if (resident.name == name && resident.program == program) return resident;
    }
    ADD_FAILURE() << name;
    return planned.residents[0];
  }

  void ExpectFault(const std::function<void(PlannedPrograms&)>& damage,
                   const std::string& message) const {
    PlannedPrograms planned = Plan();
    damage(planned);
    EXPECT_THAT(VerifyResidents(planned),
                StatusIs(absl::StatusCode::kInternal, HasSubstr(message)));
    // Session::Create returns the same error, before any allocation.
    EXPECT_THAT(
        CreateSession(std::move(planned),
                      NewDevice("inline", {.threads = 1}).value(),
                      {.ops = &ops_, .kernels = &kernels_, .threads = 1}),
        StatusIs(absl::StatusCode::kInternal, HasSubstr(message)));
  }

  const OpRegistry ops_ = MakeOps();
  const KernelRegistry kernels_ = MakeKernels();
};

TEST_F(VerifyResidentsTest, AcceptsWhatPlanProgramsMakes) {
  EXPECT_THAT(VerifyResidents(Plan()), IsOk());
}

TEST_F(VerifyResidentsTest, CatchesAVariableAtTwoPlaces) {
  ExpectFault(
      [](PlannedPrograms& planned) {
        BufferOf(planned, 1, "w").offset = BufferOf(planned, 1, "c").offset;
        BufferOf(planned, 1, "c").offset = 0;
      },
      "variable w is float32[64] at 0 in program 0, but float32[64] at 512 in "
      "program 1");
}

TEST_F(VerifyResidentsTest, CatchesConstantsOfTwoProgramsInOnePlace) {
  ExpectFault(
      [](PlannedPrograms& planned) {
        BufferOf(planned, 1, "c").offset = BufferOf(planned, 0, "c").offset;
      },
      "residents c of program 0 and c of program 1 share bytes");
}

// The training step would overwrite the evaluation's constant.
TEST_F(VerifyResidentsTest, CatchesAPlanThatUsesAnotherProgramsResidents) {
  ExpectFault(
      [](PlannedPrograms& planned) {
        planned.programs[0].plan.resident_bytes -= 256;
      },
      "program 0 uses bytes from 512 on, where c of program 1 lies");
}

TEST_F(VerifyResidentsTest, CatchesAnArenaThatIsTooSmall) {
  ExpectFault([](PlannedPrograms& planned) { planned.device_bytes -= 1; },
              "program 1 needs");
}

TEST_F(VerifyResidentsTest, CatchesAListThatDoesNotMatchThePlans) {
  ExpectFault(
      [](PlannedPrograms& planned) { Listed(planned, "w", 0).offset += 256; },
      "w is listed as float32[64] at 256");
  ExpectFault([](PlannedPrograms& planned) { planned.residents.pop_back(); },
              "2 residents are listed, the plans have 3");
}

// The omitted constant would never be written.
TEST_F(VerifyResidentsTest, CatchesAListThatHasOneTwiceInPlaceOfAnother) {
  ExpectFault(
      [](PlannedPrograms& planned) {
        Listed(planned, "c", 1) = Listed(planned, "c", 0);
      },
      "c of program 0 is listed twice");
}

}  // namespace
}  // namespace spillway
