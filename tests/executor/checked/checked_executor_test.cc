// Faults that the checked executor must report: kernels and plans that are
// wrong in one place. executor_test, session_random_test and
// end_to_end/zoo_budget_test check that it reports nothing else, and that
// results do not change.
#include "executor/checked/checked_executor.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/executor/toy_plan.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::AddOne;
using ::testing::AllOf;
using testing::DoubleThroughScratch;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kBytes;
using testing::kChainElements;
using testing::RunFunction;
using testing::StatusIs;
using testing::Sum;
using testing::ToyPlanCase;
using ::testing::Truly;

// Where a test's kernel writes although it was not given the pointer.
std::byte* stray = nullptr;

class CheckedExecutorTest : public testing::ToyPlanTest {
 protected:
  // Runs `work`, then overwrites a byte at `offset` from the pointer that
  // `slot` returns.
  void DamageAt(const std::string& node, RunFunction work,
                std::function<void*(const KernelContext&)> slot,
                int64_t offset) {
    SetKernel(node, [=](const KernelContext& context) {
      SPILLWAY_RETURN_IF_ERROR(work(context));
      static_cast<char*>(slot(context))[offset] ^= 1;
      return absl::OkStatus();
    });
  }

  // Runs `work`, then overwrites the byte at `target`.
  void DamageStray(const std::string& node, RunFunction work,
                   std::byte* target) {
    stray = target;
    SetKernel(node, [work](const KernelContext& context) {
      SPILLWAY_RETURN_IF_ERROR(work(context));
      *stray ^= std::byte{1};
      return absl::OkStatus();
    });
  }

  // The first status of `steps` steps that is not OK, and how many were before
  // it.
  absl::Status RunSteps(int steps = 1) {
    absl::StatusOr<std::unique_ptr<Executor>> executor = NewExecutor();
    if (!executor.ok()) return executor.status();
    const std::vector<float> x = Input(1);
    for (steps_run_ = 0; steps_run_ < steps; ++steps_run_) {
      SPILLWAY_RETURN_IF_ERROR((*executor)->RunStep(Feed(x)));
    }
    return absl::OkStatus();
  }

  void ExpectFound(const std::vector<std::string>& parts, int steps = 1) {
    const absl::Status status = RunSteps(steps);
    for (const std::string& part : parts) {
      EXPECT_THAT(status,
                  StatusIs(absl::StatusCode::kInternal, HasSubstr(part)));
    }
  }

  // Adds a step "last" after sum that reads y after its copy back.
  void AddLastReaderOfBack(RunFunction run) {
    AddNode("last", "AddOne", {ValueOf("back")});
    kernels_.push_back(nullptr);
    SetKernel("last", std::move(run));
    const BufferId back = plan_.steps[StepId(5)].inputs[1];
    AddStep("last", StepKind::kCompute, Lane::kCompute, {back},
            AddBuffer("last", Space::kDevice, 16_KiB), {});
    plan_.device_bytes = 16_KiB + kBytes;
  }

  // Gives the step a workspace.
  void AddWorkspace(StepId step, int64_t offset) {
    plan_.steps[step].workspace =
        AddBuffer("workspace", Space::kDevice, offset);
  }

  int steps_run_ = 0;
};

void* Output(const KernelContext& context) { return context.outputs[0]; }
void* Workspace(const KernelContext& context) { return context.workspace; }
void* SecondInput(const KernelContext& context) { return context.inputs[1]; }

TEST_P(CheckedExecutorTest, AWriteAfterAnOutputIsFound) {
  DamageAt("sum", Sum, Output, kBytes);
  ExpectFound(
      {"sum: output 0 (sum): the kernel wrote byte 4000, outside of "
       "its 4000 bytes"});
}

TEST_P(CheckedExecutorTest, AWriteBeforeAnOutputIsFound) {
  DamageAt("sum", Sum, Output, -1);
  ExpectFound({"sum: output 0 (sum): the kernel wrote byte -1,"});
}

TEST_P(CheckedExecutorTest, AWriteAfterAWorkspaceIsFound) {
  DamageAt("y", DoubleThroughScratch, Workspace, kBytes);
  ExpectFound({"y: workspace (scratch): the kernel wrote byte 4000,"});
}

TEST_P(CheckedExecutorTest, AWriteAroundAnInputIsFound) {
  DamageAt("sum", Sum, SecondInput, kBytes + 3);
  ExpectFound({"sum: input 1 (back): the kernel wrote byte 4003,"});
}

TEST_P(CheckedExecutorTest, AWriteToAnInputIsFound) {
  DamageAt("sum", Sum, SecondInput, 17);
  ExpectFound(
      {"sum: input 1 (back): the kernel changed byte 17, but Sum does "
       "not declare"});
}

TEST_P(CheckedExecutorTest, AWriteToAnInputThatTheOpMutatesIsKept) {
  ops_.Add({.name = "Sum",
            .inputs = {"a", "b"},
            .outputs = {"y"},
            .infer = [](const InferContext& context)
                -> absl::StatusOr<std::vector<TensorType>> {
              return std::vector<TensorType>{context.inputs[0]};
            },
            .mutates = {1}});
  SetKernel("sum", [](const KernelContext& context) {
    SPILLWAY_RETURN_IF_ERROR(Sum(context));
    context.mutable_input<float>(1)[5] = 1000;
    return absl::OkStatus();
  });
  float seen = 0;
  AddLastReaderOfBack([&seen](const KernelContext& context) {
    seen = context.input<float>(0)[5];
    return AddOne(context);
  });
  EXPECT_THAT(RunSteps(), IsOk());
  EXPECT_EQ(seen, 1000);
}

TEST_P(CheckedExecutorTest, SlotsOfOneBufferAreTheSameBytes) {
  SetKernel("w", [](const KernelContext& context) {
    EXPECT_EQ(context.inputs[0], context.outputs[0]);
    return AddOne(context);
  });
  EXPECT_THAT(RunSteps(), IsOk());
}

TEST_P(CheckedExecutorTest, KernelsNeverSeeTheArena) {
  const std::span<std::byte> arena = device_arena_.bytes();
  SetKernel("sum", [arena](const KernelContext& context) {
    for (void* pointer : context.inputs) {
      const auto* byte = static_cast<std::byte*>(pointer);
      EXPECT_TRUE(byte + kBytes <= arena.data() ||
                  byte >= arena.data() + arena.size());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(byte) % 256, 0u);
    }
    return Sum(context);
  });
  EXPECT_THAT(RunSteps(), IsOk());
}

TEST_P(CheckedExecutorTest, AStrayWriteWhereNoBufferEverLivesIsFound) {
  DamageStray("w", AddOne, &device_arena_.bytes()[20'000]);
  ExpectFound({"after the step", "byte 20000 of device memory"});
}

TEST_P(CheckedExecutorTest, AStrayWriteWhereABufferWillLiveIsFound) {
  DamageStray("w", AddOne, &device_arena_.bytes()[8'200]);
  ExpectFound({"sum: output 0 (sum): sum: byte 8200 of device memory"});
}

TEST_P(CheckedExecutorTest, AStrayWriteWhereABufferLivedIsFound) {
  // The bytes of y's workspace.
  DamageStray("w", AddOne, &device_arena_.bytes()[12_KiB]);
  ExpectFound({"after the step", "byte 12288 of device memory"});
}

TEST_P(CheckedExecutorTest, AStrayWriteIntoALiveBufferIsFound) {
  // The bytes of y, which is copied out later.
  DamageStray("w", AddOne, &device_arena_.bytes()[4_KiB]);
  ExpectFound({"y_host: input 0 (y)", "changed"});
}

TEST_P(CheckedExecutorTest, AStrayWriteIntoAFetchedBufferIsFound) {
  AddLastReaderOfBack(AddOne);
  DamageStray("last", AddOne, &device_arena_.bytes()[8_KiB]);
  ExpectFound({"after the step", "sum: ", "changed"});
}

TEST_P(CheckedExecutorTest, AStrayWriteIntoTheHostPoolIsFound) {
  DamageStray("w", AddOne, &host_arena_.bytes()[5'000]);
  ExpectFound({"after the step", "byte 5000 of host memory"});
}

TEST_P(CheckedExecutorTest, ABufferMovedOntoALiveOneIsFound) {
  plan_.buffers[plan_.steps[StepId(5)].outputs[0]].offset = 0;
  ExpectFound({"sum: output 0 (sum)", "x and w still lives"});
}

TEST_P(CheckedExecutorTest, ABufferMovedPartlyOntoALiveOneIsFound) {
  plan_.buffers[plan_.steps[StepId(1)].workspace].offset = 3'840;
  ExpectFound({"y: ", "still lives"});
}

TEST_P(CheckedExecutorTest, AReaderThatDoesNotWaitForItsCopyIsFound) {
  plan_.steps[StepId(5)].waits = {};
  ExpectFound({"sum: input 1 (back)", "read before it was written"});
}

TEST_P(CheckedExecutorTest, ACopyBackThatDoesNotWaitForTheCopyOutIsFound) {
  plan_.steps[StepId(4)].waits = {};
  ExpectFound({"back: input 0 (y_host)", "read before it was written"});
}

TEST_P(CheckedExecutorTest, AReuseThatDoesNotWaitForTheCopyOutIsFound) {
  // In the bytes of y; w does not wait for the swap-out of y.
  AddWorkspace(StepId(3), 4_KiB);
  ExpectFound({"w: workspace (workspace)", "y still lives"});
}

TEST_P(CheckedExecutorTest, AReuseThatWaitsForTheCopyOutIsRight) {
  AddWorkspace(StepId(3), 4_KiB);
  plan_.steps[StepId(3)].waits = {StepId(2)};
  plan_.steps[StepId(4)].waits = {StepId(3)};
  EXPECT_THAT(RunSteps(4), IsOk());
}

TEST_P(CheckedExecutorTest, ACopyThatComesTooEarlyIsFoundInTheSecondStep) {
  // As above, but the copy back does not wait for w.
  AddWorkspace(StepId(3), 4_KiB);
  plan_.steps[StepId(3)].waits = {StepId(2)};
  ExpectFound({"w: workspace (workspace)", "back still lives"}, 2);
  EXPECT_EQ(steps_run_, 1);
}

TEST_P(CheckedExecutorTest, WhatIsReadBeforeItIsWrittenIsNaN) {
  const auto is_nan = [](float x) { return std::isnan(x); };
  SetKernel("sum", [](const KernelContext& context) {
    for (int64_t i = 0; i < kChainElements; ++i) {
      context.output<float>(0)[i] += context.input<float>(0)[i];
    }
    return absl::OkStatus();
  });
  ASSERT_THAT(RunSteps(2), IsOk());
  EXPECT_THAT(ReadSum(), Each(Truly(is_nan)));

  SetKernel("sum", Sum);
  SetKernel("y", [](const KernelContext& context) {
    const auto* scratch = static_cast<const float*>(context.workspace);
    std::copy_n(scratch, kChainElements, context.output<float>(0));
    return absl::OkStatus();
  });
  ASSERT_THAT(RunSteps(2), IsOk());
  EXPECT_THAT(ReadSum(), Each(Truly(is_nan)));
}

TEST_P(CheckedExecutorTest, AnOutputThatIsNotWrittenWhollyIsNaNThere) {
  SetKernel("sum", [](const KernelContext& context) {
    context.output<float>(0)[0] = 1;
    return absl::OkStatus();
  });
  ASSERT_THAT(RunSteps(), IsOk());
  const std::vector<float> sum = ReadSum();
  EXPECT_EQ(sum[0], 1);
  EXPECT_TRUE(std::isnan(sum[1]));
  EXPECT_TRUE(std::isnan(sum.back()));
}

TEST_P(CheckedExecutorTest, WhatIsFetchedLivesUntilItIsEnded) {
  ASSERT_OK_AND_ASSIGN(const auto executor, NewExecutor());
  const std::vector<float> x = Input(1);
  ASSERT_THAT(executor->RunStep(Feed(x)), IsOk());
  EXPECT_EQ(ReadSum(), Expected(1));
  checked_memory_->EndAll();
  EXPECT_TRUE(std::isnan(ReadSum()[0]));
  EXPECT_THAT(checked_memory_->CheckAll(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(
    CpuBackends, CheckedExecutorTest,
    ::testing::Values(ToyPlanCase{.device = "inline", .check_memory = true},
                      ToyPlanCase{.device = "cpu", .check_memory = true}),
    [](const auto& info) { return info.param.device; });

}  // namespace
}  // namespace spillway
