// The engines of cuDNN's graph API for convolutions. Part of libraries_test.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/gpu/library/cudnn.h"
#include "tests/ops/cases/all_cases.h"
#include "tests/ops/gpu/fake_cudnn.h"
#include "tests/ops/gpu/libraries_fixture.h"
#include "tests/ops/gpu/under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class GpuEnginesTest : public GpuLibrariesTest {
 protected:
  static absl::StatusOr<OpRun> RunBy(const OpCase& op_case,
                                     const std::string& algorithm = {}) {
    return RunOpCase(
        op_case, {.factory = GpuFactory(op_case.op), .algorithm = algorithm});
  }

  static void Offer(const std::vector<FakeEngine>& engines) {
    FakeCudnn().engines = engines;
  }

  static bool IsUsed(const std::string& name, cudnnBackendNumericalNote_t note,
                     const MathOptions& math = {}) {
    ResetFakes();
    FakeCudnn().computes_only_deterministically = math.deterministic;
    Offer({{.index = 5, .notes = {note}}});
    EXPECT_THAT(Run(name, math), IsOk());
    return FakeCudnn().engine == 5;
  }
};

TEST_F(GpuEnginesTest, ComeFirstAndAreCalledByTheirNumbersAndChoices) {
  EXPECT_THAT(Names("Conv2DGroups"),
              ElementsAre("engine 37 2:3 14:1", "engine 38", "engine 1",
                          "implicit_precomp_gemm"));
  EXPECT_THAT(
      Names("Conv2DBackpropInputGroups"),
      ElementsAre("engine 37 2:3 14:1", "engine 38", "engine 1", "algo_1"));
  EXPECT_THAT(
      Names("Conv2DBackpropFilterGroups"),
      ElementsAre("engine 37 2:3 14:1", "engine 38", "engine 1", "algo_1"));
}

TEST_F(GpuEnginesTest, ComputeEveryConvolutionTheSameBitsAsLegacyCalls) {
  const OpCases& all = AllOpCases();
  int64_t convolutions = 0;
  for (const std::vector<OpCase>* cases : {&all.good, &all.only_on_gpu}) {
    for (const OpCase& op_case : *cases) {
      if (!op_case.op.starts_with("Conv")) continue;
      SCOPED_TRACE(op_case.name);
      ResetFakes();
      ASSERT_OK_AND_ASSIGN(const OpRun by_engine, RunBy(op_case));
      if (FakeCudnn().computations == 0) continue;  // a matrix product
      EXPECT_GE(FakeCudnn().engine, 0);
      OfferNoEngines();
      ASSERT_OK_AND_ASSIGN(const OpRun by_algorithm, RunBy(op_case));
      EXPECT_GE(FakeCudnn().algorithm, 0);
      EXPECT_EQ(by_engine.outputs[0].bytes, by_algorithm.outputs[0].bytes);
      ++convolutions;
    }
  }
  EXPECT_GT(convolutions, 100);
}

TEST_F(GpuEnginesTest, EachComputesTheSameInTheWorkspaceThatItStates) {
  Offer({{.index = 2, .more_workspace_bytes = 1000},
         {.index = 2, .choices = {{CUDNN_KNOB_TYPE_STAGES, 4}}},
         {.index = 3, .mode = CUDNN_HEUR_MODE_FALLBACK}});
  for (const std::string name :
       {"Conv2DSameEvenStride", "Conv2DGroupsInFloat16Mixed",
        "Conv2DBackpropInputSameEvenStride", "Conv2DBackpropFilterGroups",
        "Conv2DBackpropFilterGroupsInBFloat16Mixed"}) {
    SCOPED_TRACE(name);
    const OpCase op_case = CaseNamed(name);
    ASSERT_OK_AND_ASSIGN(const OpRun want, RunBy(op_case));
    ASSERT_OK_AND_ASSIGN(const auto first, Prepare(op_case));
    ASSERT_OK_AND_ASSIGN(const auto list, first->ListAlgorithms());
    EXPECT_EQ(list.size(), 4U);
    EXPECT_EQ(first->algorithm(), list[0].name);
    EXPECT_EQ(first->workspace_bytes(), list[0].workspace_bytes);
    for (const KernelAlgorithm& algorithm : list) {
      ASSERT_OK_AND_ASSIGN(const auto kernel,
                           Prepare(op_case, {.algorithm = algorithm.name}));
      EXPECT_EQ(kernel->algorithm(), algorithm.name);
      EXPECT_EQ(kernel->workspace_bytes(), algorithm.workspace_bytes);
      ASSERT_OK_AND_ASSIGN(const OpRun got, RunBy(op_case, algorithm.name));
      EXPECT_EQ(got.outputs[0].bytes, want.outputs[0].bytes) << algorithm.name;
      EXPECT_EQ(FakeCudnn().engine >= 0, algorithm.name.starts_with("engine"));
    }
  }
}

TEST_F(GpuEnginesTest, AreUsedOnlyWhereTheirNumericalNotesAllow) {
  const std::string strict = "Conv2DGroups";
  const std::string half = "Conv2DGroupsInBFloat16";
  const std::string wide = "Conv2DBackpropFilterGroupsInBFloat16Mixed";
  const MathOptions tf32 = {.allow_tf32 = true};
  const MathOptions any = {.allow_tf32 = true, .deterministic = false};
  for (const std::string& name : {strict, half, wide}) {
    EXPECT_TRUE(IsUsed(name, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP));
    EXPECT_FALSE(IsUsed(name, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
    EXPECT_TRUE(IsUsed(name, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, any));
    for (const auto note : {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
                            CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
                            CUDNN_NUMERICAL_NOTE_TYPE_COUNT}) {
      EXPECT_FALSE(IsUsed(name, note, any));
    }
    for (const auto note :
         {CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD,
          CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
          CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
          CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13}) {
      EXPECT_EQ(IsUsed(name, note), name != wide);
    }
  }
  EXPECT_FALSE(IsUsed(strict, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  EXPECT_TRUE(IsUsed(strict, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, tf32));
  EXPECT_TRUE(IsUsed(half, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  EXPECT_TRUE(IsUsed(wide, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
}

// Parts of a sum lie in memory in the dtype of the result.
TEST_F(GpuEnginesTest, AddASumInPartsOnlyIfTheResultIsFloat32) {
  for (const auto knob :
       {CUDNN_KNOB_TYPE_SPLIT_K, CUDNN_KNOB_TYPE_SPLIT_K_SLC}) {
    for (const auto& [name, is_float32] :
         {std::pair("Conv2DGroups", true),
          std::pair("Conv2DGroupsInBFloat16", false),
          std::pair("Conv2DBackpropInputGroupsInBFloat16Mixed", false),
          std::pair("Conv2DBackpropFilterGroups", true),
          std::pair("Conv2DBackpropFilterGroupsInBFloat16", false),
          std::pair("Conv2DBackpropFilterGroupsInBFloat16Mixed", true)}) {
      for (const int64_t parts : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} in {} parts", name, parts));
        ResetFakes();
        Offer({{.index = 5, .choices = {{knob, parts}}}});
        ASSERT_THAT(Run(name), IsOk());
        EXPECT_EQ(FakeCudnn().engine == 5, parts == 1 || is_float32);
      }
    }
  }
}

TEST_F(GpuEnginesTest, ThatRoundUnaskedAreUsedOnlyWhereTf32IsAllowed) {
  const auto is_used = [](const std::string& name, const MathOptions& math) {
    ResetFakes();
    Offer({{.index = 17}});
    EXPECT_THAT(Run(name, math), IsOk());
    return FakeCudnn().engine == 17;
  };
  EXPECT_FALSE(is_used("Conv2DBackpropFilterGroups", {}));
  EXPECT_TRUE(is_used("Conv2DBackpropFilterGroups", {.allow_tf32 = true}));
  EXPECT_TRUE(is_used("Conv2DBackpropFilterGroupsInBFloat16", {}));
  EXPECT_TRUE(is_used("Conv2DGroups", {}));
}

TEST_F(GpuEnginesTest, OnlyPlansThatAreWantedAreMade) {
  const OpCase op_case = CaseNamed("Conv2DGroups");
  // Two cannot be used.
  ASSERT_THAT(Prepare(op_case), IsOk());
  EXPECT_EQ(FakeCudnn().plans, 3);
  ASSERT_THAT(Prepare(op_case, {.algorithm = "engine 1"}), IsOk());
  EXPECT_EQ(FakeCudnn().plans, 4);
  ASSERT_THAT(Prepare(op_case, {.algorithm = "implicit_precomp_gemm"}), IsOk());
  EXPECT_EQ(FakeCudnn().plans, 4);
}

TEST_F(GpuEnginesTest, APlanIsMadeOnceForAllKernelsOfAConvolution) {
  Offer({{.index = 2}, {.index = 3}});
  const OpCase op_case = CaseNamed("Conv2DGroups");
  ASSERT_OK_AND_ASSIGN(const auto first, Prepare(op_case));
  EXPECT_EQ(FakeCudnn().plans, 1);
  ASSERT_THAT(first->ListAlgorithms(), IsOk());
  EXPECT_EQ(FakeCudnn().plans, 2);
  ASSERT_THAT(Prepare(op_case), IsOk());
  ASSERT_THAT(RunBy(op_case, "engine 3"), IsOk());
  EXPECT_EQ(FakeCudnn().engine, 3);
  EXPECT_EQ(FakeCudnn().plans, 2);
  for (const std::string other :
       {"Conv2DBackpropInputGroups", "Conv2DBackpropFilterGroups",
        "Conv2DGroupsInBFloat16", "Conv2DBackpropFilterGroupsInBFloat16",
        "Conv2DBackpropFilterGroupsInBFloat16Mixed", "Conv2DMultiplesOfEight",
        "Conv2DDilated", "Conv2DDilatedStride2"}) {
    const int64_t before = FakeCudnn().plans;
    ASSERT_THAT(Prepare(CaseNamed(other)), IsOk());
    EXPECT_EQ(FakeCudnn().plans, before + 1) << other;
  }
}

TEST_F(GpuEnginesTest, APlanThatCannotBeMadeIsTriedOnceForAConvolution) {
  Offer(
      {{.index = 2, .plan_status = CUDNN_STATUS_NOT_SUPPORTED}, {.index = 3}});
  const OpCase op_case = CaseNamed("Conv2DGroups");
  for (int kernels = 0; kernels < 3; ++kernels) {
    ASSERT_THAT(RunBy(op_case), IsOk());
    EXPECT_EQ(FakeCudnn().engine, 3);
    EXPECT_EQ(FakeCudnn().plans, 2);
  }
  ASSERT_THAT(Prepare(CaseNamed("Conv2DDilated")), IsOk());
  EXPECT_EQ(FakeCudnn().plans, 4);
}

TEST_F(GpuEnginesTest, APlanThatLackedMemoryIsTriedAgain) {
  const auto no_memory = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  Offer({{.index = 2, .plan_status = no_memory}});
  const OpCase op_case = CaseNamed("Conv2DGroups");
  EXPECT_THAT(Prepare(op_case), StatusIs(absl::StatusCode::kResourceExhausted,
                                         HasSubstr("CUDNN_STATUS_")));
  Offer({{.index = 2}});
  ASSERT_THAT(RunBy(op_case), IsOk());
  EXPECT_EQ(FakeCudnn().engine, 2);
}

TEST_F(GpuEnginesTest, TheFirstFourAreListed) {
  FakeCudnn().engines.emplace();
  std::vector<std::string> names;
  for (int64_t i = 0; i < 12; ++i) {
    FakeCudnn().engines->push_back({.index = i});
    if (i < 4) names.push_back(fmt::format("engine {}", i));
  }
  names.emplace_back("implicit_precomp_gemm");
  EXPECT_EQ(Names("Conv2DGroups"), names);
}

TEST_F(GpuEnginesTest, AnUnknownOneIsRefusedWithTheListOfThoseThereAre) {
  for (const std::string name : {"engine 2", "engine 37", "engine 16"}) {
    EXPECT_THAT(
        Prepare(CaseNamed("Conv2DGroups"), {.algorithm = name}),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("no algorithm \"" + name + "\""),
                       HasSubstr("has: engine 37 2:3 14:1, engine 38, "))));
  }
}

TEST_F(GpuEnginesTest, ListingThemLeavesTheKernelAsItWas) {
  const OpCase op_case = CaseNamed("Conv2DGroups");
  for (const std::string name : {"engine 38", "implicit_precomp_gemm"}) {
    ASSERT_OK_AND_ASSIGN(const auto kernel,
                         Prepare(op_case, {.algorithm = name}));
    const int64_t workspace_bytes = kernel->workspace_bytes();
    ASSERT_THAT(kernel->ListAlgorithms(), IsOk());
    EXPECT_EQ(kernel->algorithm(), name);
    EXPECT_EQ(kernel->workspace_bytes(), workspace_bytes);
  }
}

// Every call before a plan is found, for each kind of descriptor and each
// attribute; with the numbers of cudnn_graph.h.
std::vector<std::string> CallsOfPreparing() {
  std::vector<std::string> calls;
  for (const int type : {1, 2, 3, 4, 5, 7, 10, 15, 17}) {
    calls.push_back(fmt::format("cudnnBackendCreateDescriptor({})", type));
  }
  for (const int name :
       {100, 101, 102, 103, 104, 105, 106, 200, 201, 400, 401, 700,
        701, 702, 703, 704, 705, 800, 801, 900, 901, 902, 903, 906}) {
    calls.push_back(fmt::format("cudnnBackendSetAttribute({})", name));
  }
  for (const int name : {202, 300, 302, 402, 600, 601, 1301, 1303}) {
    calls.push_back(fmt::format("cudnnBackendGetAttribute({})", name));
  }
  for (const int type : {1, 4, 5, 10, 15, 17}) {
    calls.push_back(fmt::format("cudnnBackendFinalize({})", type));
  }
  return calls;
}

TEST_F(GpuEnginesTest, LegacyCallsServeWhereTheGraphApiFails) {
  const OpCase op_case = CaseNamed("Conv2DGroups");
  for (const std::string& call : CallsOfPreparing()) {
    SCOPED_TRACE(call);
    ResetFakes();
    const std::vector<FakeEngine> engines = {
        {.index = 7, .choices = {{CUDNN_KNOB_TYPE_STAGES, 4}}}};
    Offer(engines);
    ASSERT_THAT(RunBy(op_case), IsOk());
    EXPECT_EQ(FakeCudnn().engine, 7);
    ResetFakes();
    Offer(engines);
    FakeCudnn().failing_call = call;
    ASSERT_THAT(RunBy(op_case), IsOk());
    EXPECT_GE(FakeCudnn().algorithm, 0);
    ASSERT_OK_AND_ASSIGN(const auto kernel, Prepare(op_case));
    ASSERT_OK_AND_ASSIGN(const auto list, kernel->ListAlgorithms());
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].name, "implicit_precomp_gemm");
  }
}

TEST_F(GpuEnginesTest, OutOfMemoryIsAnError) {
  const OpCase op_case = CaseNamed("Conv2DGroups");
  for (const std::string& call : CallsOfPreparing()) {
    ResetFakes();
    Offer({{.index = 7, .choices = {{CUDNN_KNOB_TYPE_STAGES, 4}}}});
    FakeCudnn().failing_call = call;
    FakeCudnn().failing_status =
        CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    EXPECT_THAT(Prepare(op_case),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         StartsWith(call + ": CUDNN_STATUS_")));
  }
}

TEST_F(GpuEnginesTest, FailedCallsOfARunAreNamed) {
  for (const std::string call :
       {"cudnnBackendCreateDescriptor(16)", "cudnnBackendSetAttribute(1000)",
        "cudnnBackendSetAttribute(1001)", "cudnnBackendSetAttribute(1003)",
        "cudnnBackendFinalize(16)", "cudnnBackendExecute"}) {
    for (const std::string name :
         {"Conv2DGroups", "Conv2DBackpropInputGroups",
          "Conv2DBackpropFilterGroupsInBFloat16Mixed"}) {
      ResetFakes();
      FakeCudnn().failing_call = call;
      EXPECT_THAT(Run(name), StatusIs(absl::StatusCode::kInternal,
                                      AllOf(StartsWith(call + ": CUDNN_"),
                                            HasSubstr("(in words)"))));
    }
  }
}

TEST_F(GpuEnginesTest, AreExecutedByTheHandleOfTheirDevice) {
  Offer({{.index = 2}});
  for (const int device : {0, 1, 0}) {
    cuda_emulation::SetCurrentDevice(device);
    ASSERT_THAT(Run("Conv2DGroups"), IsOk());
    EXPECT_EQ(FakeCudnn().handle_number, device);
  }
  EXPECT_EQ(FakeCudnn().plans, 2);
  cuda_emulation::SetCurrentDevice(0);
}

}  // namespace
}  // namespace spillway::testing
