// The algorithms that kernels using cuDNN's legacy API and cuBLASLt list, and
// those that MathOptions allow. Part of libraries_test; for cuDNN's engines see
// engines_suite.cc.
#include <set>
#include <string>
#include <vector>

#include "ops/gpu/library/cublas_lt.h"
#include "ops/gpu/library/cudnn.h"
#include "tests/ops/gpu/fake_cublas_lt.h"
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

class GpuAlgorithmsTest : public GpuLibrariesTest {
 protected:
  // Algorithms 1 and 5 are deterministic in every direction.
  void SetUp() override {
    GpuLibrariesTest::SetUp();
    OfferNoEngines();
    FakeCudnn().suggestions = {
        {.algorithm = 0, .status = CUDNN_STATUS_NOT_SUPPORTED},
        {.algorithm = 1, .more_workspace_bytes = 512},
        {.algorithm = 4, .more_workspace_bytes = size_t{1} << 31},
        {.algorithm = 5},
        {.algorithm = 1, .math = CUDNN_DEFAULT_MATH}};
    FakeCublasLt().algorithms = 11;
    FakeCublasLt().unusable_algorithm = 3;
  }
};

TEST_F(GpuAlgorithmsTest, AreCalledWhatTheLibrariesCallThem) {
  EXPECT_THAT(Names("Conv2DGroups"),
              ElementsAre("implicit_precomp_gemm", "fft_tiling"));
  EXPECT_THAT(
      Names("Conv2DGroupsInBFloat16"),
      ElementsAre("implicit_precomp_gemm tensor_op", "fft_tiling tensor_op",
                  "implicit_precomp_gemm default_math"));
  EXPECT_THAT(Names("Conv2DBackpropInputGroups"),
              ElementsAre("algo_1", "winograd_nonfused"));
  EXPECT_THAT(Names("Conv2DBackpropFilterGroups"),
              ElementsAre("algo_1", "winograd_nonfused"));
  EXPECT_THAT(Names("Conv2DBackpropFilterGroupsInBFloat16Mixed"),
              ElementsAre("algo_1 default_math"));
  const std::vector<std::string> products = {
      "heuristic 0", "heuristic 1", "heuristic 2", "heuristic 3",
      "heuristic 4", "heuristic 5", "heuristic 6"};
  EXPECT_EQ(Names("MatMulNNSmall"), products);
  EXPECT_EQ(Names("Conv2DBackpropFilterPointwiseInBFloat16Mixed"), products);
  EXPECT_EQ(Names("Conv2DBackpropInputPointwiseWithAddend"), products);
}

TEST_F(GpuAlgorithmsTest, EachComputesTheSameInTheWorkspaceThatItStates) {
  for (const std::string name :
       {"Conv2DGroups", "Conv2DSameEvenStride", "Conv2DGroupsInFloat16Mixed",
        "Conv2DBackpropInputSameEvenStride", "Conv2DBackpropFilterGroups",
        "Conv2DBackpropFilterGroupsInBFloat16",
        "Conv2DBackpropFilterPointwiseInBFloat16Mixed", "MatMulNNSmall",
        "MatMulBFloat16Case1"}) {
    const OpCase op_case = CaseNamed(name);
    ASSERT_OK_AND_ASSIGN(
        const OpRun want,
        RunOpCase(op_case, {.factory = GpuFactory(op_case.op)}));
    ASSERT_OK_AND_ASSIGN(const auto first, Prepare(op_case));
    ASSERT_OK_AND_ASSIGN(const auto list, first->ListAlgorithms());
    ASSERT_GT(list.size(), 1U) << name;
    EXPECT_EQ(first->algorithm(), list[0].name);
    EXPECT_EQ(first->workspace_bytes(), list[0].workspace_bytes);
    std::set<int> used;
    for (const KernelAlgorithm& algorithm : list) {
      ASSERT_OK_AND_ASSIGN(const auto kernel,
                           Prepare(op_case, {.algorithm = algorithm.name}));
      EXPECT_EQ(kernel->algorithm(), algorithm.name);
      EXPECT_EQ(kernel->workspace_bytes(), algorithm.workspace_bytes);
      FakeCudnn().algorithm = -1;
      FakeCublasLt().algorithm = -1;
      ASSERT_OK_AND_ASSIGN(
          const OpRun got,
          RunOpCase(op_case, {.factory = GpuFactory(op_case.op),
                              .algorithm = algorithm.name}));
      EXPECT_EQ(got.outputs[0].bytes, want.outputs[0].bytes)
          << name << " by " << algorithm.name;
      used.insert(1000 * static_cast<int>(FakeCudnn().math) +
                  10 * FakeCudnn().algorithm + FakeCublasLt().algorithm);
    }
    EXPECT_EQ(used.size(), list.size()) << name;
  }
}

TEST_F(GpuAlgorithmsTest, AnUnknownOneIsRefusedWithTheListOfThoseThereAre) {
  EXPECT_THAT(
      Prepare(CaseNamed("Conv2DGroups"), {.algorithm = "direct"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("no algorithm \"direct\""),
                     HasSubstr("has: implicit_precomp_gemm, fft_tiling"))));
  EXPECT_THAT(Prepare(CaseNamed("MatMulNNSmall"), {.algorithm = "direct"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has: heuristic 0, heuristic 1, ")));
}

// Listing calls cuDNN with the kernel's descriptors.
TEST_F(GpuAlgorithmsTest, ListingThemLeavesTheKernelAsItWas) {
  const OpCase op_case = CaseNamed("Conv2DGroupsInBFloat16");
  ASSERT_OK_AND_ASSIGN(const auto kernel, Prepare(op_case));
  ASSERT_OK_AND_ASSIGN(const auto list, kernel->ListAlgorithms());
  std::vector<HostTensor> inputs = MakeInputs(op_case);
  std::vector<std::byte> y(static_cast<size_t>(op_case.outputs[0].num_bytes()));
  std::vector<std::byte> workspace(
      static_cast<size_t>(kernel->workspace_bytes()));
  void* const in[] = {inputs[0].bytes.data(), inputs[1].bytes.data()};
  void* const out[] = {y.data()};
  ASSERT_THAT(
      kernel->Run(
          {.inputs = in, .outputs = out, .workspace = workspace.data()}),
      IsOk());
  EXPECT_EQ(FakeCudnn().algorithm, 1);
  EXPECT_EQ(FakeCudnn().math, CUDNN_TENSOR_OP_MATH);
  ASSERT_OK_AND_ASSIGN(const auto again, kernel->ListAlgorithms());
  ASSERT_EQ(again.size(), list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(again[i].name, list[i].name);
  }
}

TEST_F(GpuAlgorithmsTest, ThoseThatAreNotDeterministicAreUsedWhereTheyMayBe) {
  FakeCudnn().computes_only_deterministically = false;
  const MathOptions any = {.deterministic = false};
  FakeCudnn().suggestions = {{.algorithm = CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                              .is_said_deterministic = false},
                             {.algorithm = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1}};
  EXPECT_THAT(Names("Conv2DBackpropInputGroups", any),
              ElementsAre("algo_0", "algo_1"));
  EXPECT_THAT(Names("Conv2DBackpropInputGroups"), ElementsAre("algo_1"));
  ASSERT_THAT(Run("Conv2DBackpropInputGroups", any), IsOk());
  EXPECT_EQ(FakeCudnn().algorithm, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0);
  FakeCudnn().suggestions = {{.algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3,
                              .is_said_deterministic = false}};
  ASSERT_THAT(Run("Conv2DBackpropFilterGroupsInBFloat16Mixed", any), IsOk());
  EXPECT_EQ(FakeCudnn().algorithm, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3);
}

TEST_F(GpuAlgorithmsTest, Float32IsRoundedToTf32OnlyWhereItMayBe) {
  const MathOptions tf32 = {.allow_tf32 = true};
  for (const std::string name : {"Conv2DGroups", "Conv2DBackpropInputGroups",
                                 "Conv2DBackpropFilterGroups"}) {
    ASSERT_THAT(Run(name, tf32), IsOk());
    EXPECT_EQ(FakeCudnn().math, CUDNN_DEFAULT_MATH) << name;
    ASSERT_THAT(Run(name), IsOk());
    EXPECT_EQ(FakeCudnn().math, CUDNN_FMA_MATH) << name;
    ASSERT_THAT(Run(name + "InFloat16", tf32), IsOk());
    EXPECT_EQ(FakeCudnn().math, CUDNN_TENSOR_OP_MATH) << name;
  }
  ASSERT_THAT(Run("MatMulNNSmall", tf32), IsOk());
  EXPECT_EQ(FakeCublasLt().compute, CUBLAS_COMPUTE_32F_FAST_TF32);
  ASSERT_THAT(Run("MatMulNNSmall"), IsOk());
  EXPECT_EQ(FakeCublasLt().compute, CUBLAS_COMPUTE_32F);
  ASSERT_THAT(Run("MatMulBFloat16Case1", tf32), IsOk());
  EXPECT_EQ(FakeCublasLt().compute, CUBLAS_COMPUTE_32F);
}

TEST_F(GpuAlgorithmsTest, Float32IsNeverRoundedToFloat16) {
  FakeCudnn().suggestions = {
      {.algorithm = 1, .math = CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION}};
  ASSERT_THAT(Run("Conv2DGroups", {.allow_tf32 = true}), IsOk());
  EXPECT_EQ(FakeCudnn().math, CUDNN_DEFAULT_MATH);
}

TEST_F(GpuAlgorithmsTest, EachDeviceHasHandlesOfItsOwn) {
  for (const int device : {0, 1, 1, 0, 2}) {
    cuda_emulation::SetCurrentDevice(device);
    ASSERT_THAT(Run("Conv2DGroups"), IsOk());
    ASSERT_THAT(Run("MatMulNNSmall"), IsOk());
    EXPECT_EQ(FakeCudnn().handle_number, device);
    EXPECT_EQ(FakeCublasLt().handle_number, device);
  }
  cuda_emulation::SetCurrentDevice(0);
  EXPECT_EQ(FakeCudnn().objects, 3);
  EXPECT_EQ(FakeCublasLt().objects, 3);
}

}  // namespace
}  // namespace spillway::testing
