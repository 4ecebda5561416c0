// The search for convolution engines in the installed cuDNN, if there is one.
// Needs no GPU: cuDNN gets the description of an H100. Part of libraries_test.
//
// Source: NVIDIA, cudnn-frontend, samples/cpp/misc/
// deviceless_aot_compilation.cpp.
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "ops/gpu/conv/conv_engine_ways.h"
#include "ops/gpu/conv/conv_engines.h"
#include "ops/gpu/conv/conv_operands.h"
#include "ops/gpu/library/cudnn.h"
#include "tests/ops/gpu/libraries_fixture.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {
namespace {

using ::testing::StartsWith;

#if CUDNN_VERSION >= 91100

constexpr std::string_view kH100 = R"({
  "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
  "deviceName": "H100", "isTccDriver": 0, "supportCoopLaunch": 1,
  "multiProcessorCount": 132, "warpSize": 32, "maxCtasPerSM": 32,
  "maxThreadsPerSM": 2048, "maxThreadsPerBlock": 1024,
  "maxBlockSize": [1024, 1024, 64], "maxGridSize": [2147483647, 65535, 65535],
  "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "l2CacheSize": 52428800,
  "totalGlobalMem": 85017493504, "smClockRateKHz": 1980000,
  "memClockRateKHz": 2619000})";

// The installed library.
const CudnnApi* installed = nullptr;
// The descriptor of kH100.
cudnnBackendDescriptor_t device = nullptr;

// Like the library, but with the device in place of a handle.
cudnnStatus_t SetWithoutHandle(cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t type, int64_t count,
                               const void* elements) {
  if (type == CUDNN_TYPE_HANDLE) return CUDNN_STATUS_SUCCESS;
  if (name == CUDNN_ATTR_ENGINEHEUR_MODE) {
    const cudnnStatus_t status =
        installed->set_attribute(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return installed->set_attribute(descriptor, name, type, count, elements);
}

class InstalledCudnnTest : public GpuLibrariesTest {
 protected:
  void SetUp() override {
    GpuLibrariesTest::SetUp();
    SetCudnnForTest(nullptr);
    const auto api = Cudnn();
    if (!api.ok()) GTEST_SKIP() << api.status().message();
    installed = *api;
    if (installed->get_version() < 91100) GTEST_SKIP() << "an older cuDNN";
    ASSERT_EQ(
        installed->create_backend(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device),
        CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(
        installed->set_attribute(
            device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
            static_cast<int64_t>(kH100.size()), kH100.data()),
        CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(installed->finalize(device), CUDNN_STATUS_SUCCESS);
    api_ = *installed;
    api_.set_attribute = SetWithoutHandle;
  }

  void TearDown() override {
    if (device != nullptr) installed->destroy_backend(device);
    device = nullptr;
    GpuLibrariesTest::TearDown();
  }

  absl::StatusOr<std::vector<const ConvEngine*>> Find(
      const ConvProblem& problem, const ConvEngineRule& rule,
      const ConvWanted& wanted) {
    return FindConvEngines({.api = api_}, problem, rule, wanted);
  }

  CudnnApi api_;
};

std::vector<ConvGeometry> Convolutions() {
  const WindowDim same = {
      .input = 28, .output = 28, .size = 3, .pad_before = 1, .pad_after = 1};
  const WindowDim halved = {.input = 224,
                            .output = 112,
                            .size = 7,
                            .stride = 2,
                            .pad_before = 3,
                            .pad_after = 3};
  const WindowDim dilated = {
      .input = 19, .output = 15, .size = 3, .dilation = 2};
  const auto make = [](int64_t in, int64_t out, int64_t groups,
                       const Window& window) {
    return ConvGeometry{.batch = 8,
                        .in_channels = in,
                        .out_channels = out,
                        .groups = groups,
                        .window = window};
  };
  return {make(64, 64, 1, {same, same}),       make(3, 64, 1, {halved, halved}),
          make(64, 64, 4, {same, same}),       make(64, 64, 64, {same, same}),
          make(32, 16, 1, {same, same, same}), make(5, 7, 1, {same, dilated})};
}

TEST_F(InstalledCudnnTest, HasEnginesForConvolutionsOfOneDType) {
  for (const ConvGeometry& geometry : Convolutions()) {
    for (const auto direction :
         {ConvDirection::kForward, ConvDirection::kInputGradient,
          ConvDirection::kFilterGradient}) {
      for (const DType dtype :
           {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
        SCOPED_TRACE(::testing::Message()
                     << "channels " << geometry.in_channels << " to "
                     << geometry.out_channels << ", groups " << geometry.groups
                     << ", direction " << static_cast<int>(direction) << ", "
                     << DTypeName(dtype));
        const ConvProblem problem = {.geometry = geometry,
                                     .direction = direction,
                                     .dtype = dtype,
                                     .filter_dtype = dtype};
        const ConvEngineRule rule = {.tensor_cores = dtype != DType::kFloat32};
        ASSERT_OK_AND_ASSIGN(const std::vector<const ConvEngine*> all,
                             Find(problem, rule, {.most = 8}));
        ASSERT_FALSE(all.empty());
        ASSERT_OK_AND_ASSIGN(const std::vector<const ConvEngine*> last,
                             Find(problem, rule, {.name = all.back()->name}));
        ASSERT_EQ(last.size(), 1U);
        EXPECT_EQ(last[0], all.back());
      }
    }
  }
}

// Whether one exists depends on the driver, for which it is compiled.
TEST_F(InstalledCudnnTest, IsAskedForFloat32GradientsOfBFloat16) {
  for (const ConvGeometry& geometry : Convolutions()) {
    EXPECT_THAT(Find({.geometry = geometry,
                      .direction = ConvDirection::kFilterGradient,
                      .dtype = DType::kBFloat16,
                      .filter_dtype = DType::kFloat32},
                     {.tensor_cores = true, .transforms = false}, {.most = 8}),
                IsOk());
  }
}

// Everything except the handle is valid.
TEST_F(InstalledCudnnTest, RefusesToExecuteAPlanWithoutAHandle) {
  const LockedCudnn cudnn = {.api = api_};
  ConvEngineWays ways({.geometry = Convolutions()[0]}, ConvDirection::kForward,
                      {}, {});
  ASSERT_OK_AND_ASSIGN(const auto found, ways.Find(cudnn, {}));
  ASSERT_EQ(found.size(), 1U);
  alignas(256) std::array<std::byte, 1024> data = {};
  EXPECT_THAT(found[0]->Run(cudnn, {.x = &data[0],
                                    .filter = &data[256],
                                    .y = &data[512],
                                    .workspace = &data[768]}),
              StatusIs(absl::StatusCode::kInternal,
                       StartsWith("cudnnBackendExecute: ")));
}

#endif  // CUDNN_VERSION

}  // namespace
}  // namespace spillway::testing
