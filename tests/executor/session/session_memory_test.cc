// The contract of sessions for memory: how much is allocated, and when.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "tests/executor/toy_session.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kElements;
using testing::StatusIs;
using testing::ToySessionCase;
using testing::TrainProgram;

using SessionMemoryTest = testing::ToySessionTest;

TEST_P(SessionMemoryTest, AllocatesExactlyThePlanAndNothingInSteps) {
  const std::unique_ptr<Session> session = NewTrainSession();
  // w and c; x and the product of the same size.
  EXPECT_EQ(asked_bytes_, 4 * 4 * kElements);
  for (int step = 0; step < 5; ++step) {
    ASSERT_THAT(session->Step({{ids_.x.id(), Filled(1)}}), IsOk());
  }
  const MemoryUse memory = session->memory();
  EXPECT_EQ(memory.predicted_device_bytes, asked_bytes_);
  EXPECT_EQ(memory.measured_device_bytes, asked_bytes_);
  EXPECT_EQ(memory.predicted_host_bytes, 0);
  EXPECT_EQ(memory.measured_host_bytes, 0);
  EXPECT_EQ(memory.allocations_in_steps, 0);
}

TEST_P(SessionMemoryTest, ABudgetOfExactlyThePlanIsEnoughAndAByteLessIsNot) {
  const int64_t needed = NewTrainSession()->plan(0)->device_bytes;
  EXPECT_THAT(NewTrainSession({.device_memory = needed})
                  ->Step({{ids_.x.id(), Filled(1)}}),
              IsOk());
  asked_bytes_ = 0;
  std::vector<Program> programs;
  programs.push_back(TrainProgram(ops_).Build());
  EXPECT_THAT(NewSession(std::move(programs), {.device_memory = needed - 1}),
              StatusIs(absl::StatusCode::kResourceExhausted, _));
  EXPECT_EQ(asked_bytes_, 0);
}

TEST_P(SessionMemoryTest,
       APlanThatTheDeviceCannotHoldIsRefusedBeforeAllocating) {
  const int64_t needed = NewTrainSession()->plan(0)->device_bytes;
  asked_bytes_ = 0;
  std::vector<Program> programs;
  programs.push_back(TrainProgram(ops_).Build());
  EXPECT_THAT(NewSession(std::move(programs), {},
                         /*capacity_bytes=*/needed - 1),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr(std::to_string(needed)),
                             HasSubstr(std::to_string(needed - 1)))));
  EXPECT_EQ(asked_bytes_, 0);
}

INSTANTIATE_TEST_SUITE_P(CpuBackends, SessionMemoryTest,
                         ::testing::Values(ToySessionCase{.device = "inline"},
                                           ToySessionCase{.device = "cpu"}));

}  // namespace
}  // namespace spillway
