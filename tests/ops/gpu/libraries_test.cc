// gpu/suite.cc for the kernels that call cuDNN and cuBLASLt, without a GPU:
// with fakes of these libraries on host memory. Also tests these kernels if the
// libraries fail.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "ops/gpu/library/cublas_lt.h"
#include "ops/gpu/library/cudnn.h"
#include "tests/ops/gpu/emulated_kernel.h"
#include "tests/ops/gpu/fake_cublas_lt.h"
#include "tests/ops/gpu/fake_cudnn.h"
#include "tests/ops/gpu/libraries_fixture.h"
#include "tests/ops/gpu/under_test.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {

absl::Status GpuStatus() { return absl::OkStatus(); }

KernelFactory GpuFactory(const std::string& op) {
  const bool is_of_library = op.starts_with("Conv") || op == "MatMul";
  return is_of_library ? EmulatedKernel(op) : nullptr;
}

absl::StatusOr<OpRun> RunOnGpu(const OpCase& op_case, RunOpOptions options) {
  options.factory = GpuFactory(op_case.op);
  return RunOpCase(op_case, options);
}

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(GpuLibrariesTest, SaysItsVersions) {
  ASSERT_OK_AND_ASSIGN(const std::string libraries, GpuLibraries());
  EXPECT_EQ(libraries, "cuDNN 9.13.1, cuBLASLt 13.0.2");
}

class FakeLibraries : public ::testing::Environment {
 public:
  void SetUp() override { ResetFakes(); }
  void TearDown() override { ResetFakes(); }
};

const ::testing::Environment* const kFakeLibraries =
    ::testing::AddGlobalTestEnvironment(new FakeLibraries);

TEST_F(GpuLibrariesTest, InstalledLibrariesHaveTheFunctions) {
  SetCublasLtForTest(nullptr);
  SetCudnnForTest(nullptr);
  if (const auto cudnn = Cudnn(); !cudnn.ok()) {
    EXPECT_THAT(cudnn.status(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("libcudnn.so.9")));
  }
  if (const auto cublas_lt = CublasLt(); !cublas_lt.ok()) {
    EXPECT_THAT(cublas_lt.status(), StatusIs(absl::StatusCode::kUnavailable,
                                             HasSubstr("libcublasLt.so.13")));
  }
}

// Memory that is free after they were opened stays free: no kernel opens more.
TEST_F(GpuLibrariesTest, OpeningMakesTheHandlesThatKernelsUse) {
  int taken = 0;
  FakeCudnn().on_handle = [&taken] { ++taken; };
  FakeCublasLt().on_handle = [&taken] { ++taken; };
  ASSERT_THAT(OpenGpuLibraries(), IsOk());
  EXPECT_EQ(taken, 2);
  ASSERT_THAT(OpenGpuLibraries(), IsOk());
  ASSERT_THAT(Run("Conv2DGroups"), IsOk());
  ASSERT_THAT(Run("MatMulNNSmall"), IsOk());
  EXPECT_EQ(taken, 2);
  EXPECT_GT(FakeCudnn().computations, 0);
}

TEST_F(GpuLibrariesTest, OpeningSaysWhatFailed) {
  FakeCublasLt().failing_call = "cublasLtCreate";
  EXPECT_THAT(OpenGpuLibraries(), StatusIs(absl::StatusCode::kInternal,
                                           HasSubstr("cublasLtCreate")));
}

TEST_F(GpuLibrariesTest, FailedLegacyCallsOfCudnnAreNamed) {
  struct Direction {
    std::string op;
    std::string call;
  };
  for (const auto& [op, call] :
       {Direction{"Conv2D", "Forward"},
        Direction{"Conv2DBackpropInput", "BackwardData"},
        Direction{"Conv2DBackpropFilter", "BackwardFilter"}}) {
    for (const std::string& failing :
         {std::string("cudnnCreate"), std::string("cudnnSetStream"),
          std::string("cudnnCreateTensorDescriptor"),
          std::string("cudnnSetTensorNdDescriptor"),
          std::string("cudnnCreateFilterDescriptor"),
          std::string("cudnnSetFilterNdDescriptor"),
          std::string("cudnnCreateConvolutionDescriptor"),
          std::string("cudnnSetConvolutionNdDescriptor"),
          std::string("cudnnSetConvolutionGroupCount"),
          std::string("cudnnSetConvolutionMathType"),
          "cudnnGetConvolution" + call + "Algorithm_v7",
          "cudnnGetConvolution" + call + "WorkspaceSize",
          "cudnnConvolution" + call}) {
      ResetFakes();
      OfferNoEngines();
      FakeCudnn().failing_call = failing;
      EXPECT_THAT(Run(op + "Groups"),
                  StatusIs(absl::StatusCode::kInternal,
                           AllOf(StartsWith(failing + ": CUDNN_STATUS_"),
                                 HasSubstr("(in words)"))));
    }
  }
}

TEST_F(GpuLibrariesTest, FailedCallsOfCublasLtAreNamed) {
  for (const std::string failing :
       {"cublasLtCreate", "cublasLtMatmulDescCreate",
        "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
        "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
    ResetFakes();
    FakeCublasLt().failing_call = failing;
    EXPECT_THAT(Run("MatMulNTSmall"),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(StartsWith(failing + ": CUBLAS_STATUS_"),
                               HasSubstr("(in words)"))));
  }
}

TEST_F(GpuLibrariesTest, TheWorkspaceIsWhatTheLibraryAsksForAndTheCopies) {
  FakeCudnn().workspace_bytes = 12345;
  FakeCublasLt().workspace_bytes = 6789;
  EXPECT_EQ(WorkspaceBytes("Conv2DGroups"), 12345);
  EXPECT_EQ(WorkspaceBytes("MatMulNNSmall"), 6789);
  EXPECT_EQ(WorkspaceBytes("MatMulSmallBias"), 6789);
  // b [7, 3] and the bias [3] are float32, y is bfloat16.
  EXPECT_EQ(WorkspaceBytes("MatMulBFloat16Bias"), 256 + 256 + 6789);
  // x [2, 8, 6, 3] becomes [2, 9, 7, 3].
  const int64_t padded = AlignUp(int64_t{2} * 9 * 7 * 3 * 4, 256);
  EXPECT_EQ(WorkspaceBytes("Conv2DSameEvenStride"), padded + 12345);
  EXPECT_EQ(WorkspaceBytes("Conv2DBackpropInputSameEvenStride"),
            padded + 12345);
  EXPECT_EQ(WorkspaceBytes("Conv2DBackpropFilterSameEvenStride"),
            padded + 12345);
}

TEST_F(GpuLibrariesTest,
       AFloat32GradientOfBFloat16NeedsCopiesOnlyInLegacyCalls) {
  FakeCudnn().workspace_bytes = 12345;
  FakeCublasLt().workspace_bytes = 6789;
  const int64_t x = AlignUp(int64_t{2} * 6 * 7 * 6 * 4, 256);
  const int64_t dy = AlignUp(int64_t{2} * 6 * 7 * 9 * 4, 256);
  EXPECT_EQ(WorkspaceBytes("Conv2DBackpropFilterGroupsInBFloat16Mixed"), 12345);
  EXPECT_EQ(WorkspaceBytes("Conv2DBackpropFilterPointwiseInBFloat16Mixed"),
            6789);
  OfferNoEngines();
  EXPECT_EQ(WorkspaceBytes("Conv2DBackpropFilterGroupsInBFloat16Mixed"),
            x + dy + 12345);
  EXPECT_EQ(WorkspaceBytes("Conv2DBackpropFilterPointwiseInBFloat16Mixed"),
            6789);
}

TEST_F(GpuLibrariesTest, AlgorithmsThatAreNotDeterministicAreNeverChosen) {
  OfferNoEngines();
  constexpr int kDataAlgorithms[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                                     CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT};
  for (const int algorithm : kDataAlgorithms) {
    FakeCudnn().suggestions = {{.algorithm = algorithm}};
    EXPECT_THAT(Run("Conv2DBackpropInputGroups"),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr("no deterministic algorithm")));
  }
  FakeCudnn().suggestions = {
      {.algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0},
      {.algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
       .is_said_deterministic = false},
      {.algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3}};
  EXPECT_THAT(Run("Conv2DBackpropFilterGroups"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("no deterministic algorithm")));
}

TEST_F(GpuLibrariesTest, TheFirstAlgorithmThatMayBeUsedIsChosen) {
  OfferNoEngines();
  FakeCudnn().suggestions = {
      {.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_FFT,
       .more_workspace_bytes = size_t{1} << 30},  // a little too much
      {.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_GEMM,
       .status = CUDNN_STATUS_NOT_SUPPORTED},
      {.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD},
      {.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM}};
  ASSERT_THAT(Run("Conv2DGroups"), IsOk());
  EXPECT_EQ(FakeCudnn().algorithm, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD);
}

TEST_F(GpuLibrariesTest, TensorCoresMultiplyOnlyWhatWasBFloat16) {
  OfferNoEngines();
  ASSERT_THAT(Run("Conv2DGroups"), IsOk());
  EXPECT_EQ(FakeCudnn().math, CUDNN_FMA_MATH);
  ASSERT_THAT(Run("Conv2DGroupsInBFloat16"), IsOk());
  EXPECT_EQ(FakeCudnn().math, CUDNN_TENSOR_OP_MATH);
  ASSERT_THAT(Run("Conv2DBackpropFilterGroups"), IsOk());
  EXPECT_EQ(FakeCudnn().math, CUDNN_FMA_MATH);
  ASSERT_THAT(Run("Conv2DBackpropFilterGroupsInBFloat16Mixed"), IsOk());
  EXPECT_EQ(FakeCudnn().math, CUDNN_DEFAULT_MATH);
}

// Winograd's sums of operands would be rounded to TF32.
TEST_F(GpuLibrariesTest, AFloat32GradientOfBFloat16IsNotByWinograd) {
  OfferNoEngines();
  FakeCudnn().suggestions = {
      {.algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED},
      {.algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1}};
  ASSERT_THAT(Run("Conv2DBackpropFilterGroups"), IsOk());
  EXPECT_EQ(FakeCudnn().algorithm,
            CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED);
  ASSERT_THAT(Run("Conv2DBackpropFilterGroupsInBFloat16Mixed"), IsOk());
  EXPECT_EQ(FakeCudnn().algorithm, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);
}

TEST_F(GpuLibrariesTest, DimensionsBeyondAnIntAreRefusedWithoutEngines) {
  OfferNoEngines();
  const Shape x = {1, 65536, 65536, 1};
  EXPECT_THAT(
      Prepare(
          {.name = "Conv2DOfAHugeImage",
           .op = "Conv2D",
           .inputs = {{.type = Float32(x)}, {.type = Float32({1, 1, 1, 1})}},
           .attributes = {{"padding", "VALID"}},
           .outputs = {Float32(x)}}),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("4294967296")));
}

TEST_F(GpuLibrariesTest, AProductWithoutAlgorithmIsRefused) {
  FakeCublasLt().algorithms = 0;
  EXPECT_THAT(Run("MatMulNNSmall"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("no algorithm for a product of 5 x 7")));
  EXPECT_EQ(FakeCublasLt().most_workspace_bytes, uint64_t{32} << 20);
}

TEST_F(GpuLibrariesTest, WorkIsQueuedOnTheStreamOfTheRun) {
  int conv_stream = 0;
  int matmul_stream = 0;
  const auto run = [](const std::string& name, void* stream) -> absl::Status {
    const OpCase op_case = CaseNamed(name);
    std::vector<HostTensor> inputs = MakeInputs(op_case);
    HostTensor output = {.type = op_case.outputs[0], .bytes = {}};
    output.bytes.resize(static_cast<size_t>(output.type.num_bytes()));
    SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                              Prepare(op_case));
    std::vector<std::byte> workspace(
        static_cast<size_t>(kernel->workspace_bytes()));
    void* const in[] = {inputs[0].bytes.data(), inputs[1].bytes.data()};
    void* const out[] = {output.bytes.data()};
    return kernel->Run({.inputs = in,
                        .outputs = out,
                        .workspace = workspace.data(),
                        .stream = stream});
  };
  ASSERT_THAT(run("Conv2DGroups", &conv_stream), IsOk());
  ASSERT_THAT(run("MatMulNNSmall", &matmul_stream), IsOk());
  EXPECT_EQ(FakeCudnn().stream, &conv_stream);
  EXPECT_EQ(FakeCublasLt().stream, &matmul_stream);
  OfferNoEngines();
  ASSERT_THAT(run("Conv2DGroups", &matmul_stream), IsOk());
  EXPECT_EQ(FakeCudnn().stream, &matmul_stream);
}

}  // namespace
}  // namespace spillway::testing
