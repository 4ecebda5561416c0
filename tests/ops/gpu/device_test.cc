// gpu/suite.cc on a real GPU; skipped if there is none.
#include <memory>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "executor/device/cuda/cuda_backend.h"
#include "executor/device/registry.h"
#include "graph/well_known_ops.h"
#include "ops/all_ops.h"
#include "tests/ops/cases/all_cases.h"
#include "tests/ops/gpu/run_on_device.h"
#include "tests/ops/gpu/under_test.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {
namespace {

const absl::StatusOr<std::unique_ptr<Device>>& Gpu() {
  static const absl::StatusOr<std::unique_ptr<Device>> kGpu =
      NewDevice("cuda", {});
  return kGpu;
}

// Of the real library; null: there is none.
Communicator* SingleRank() {
  static const auto kRank =
      []() -> absl::StatusOr<std::unique_ptr<Communicator>> {
    SPILLWAY_RETURN_IF_ERROR(Gpu().status());
    SPILLWAY_ASSIGN_OR_RETURN(NcclApi* const nccl, LinkedCudaBackend()->nccl());
    return NewSingleRank(*nccl);
  }();
  return kRank.ok() ? kRank->get() : nullptr;
}

}  // namespace

absl::Status GpuStatus() { return Gpu().status(); }

KernelFactory GpuFactory(const std::string& op) {
  if (IsCollective(op) && SingleRank() == nullptr) return nullptr;
  return StandardKernels().Find(op, DeviceKind::kCuda);
}

absl::StatusOr<OpRun> RunOnGpu(const OpCase& op_case, RunOpOptions options) {
  options.factory = GpuFactory(op_case.op);
  options.slice = GpuFactory("Slice");
  return RunOnDevice(**Gpu(), op_case, options, SingleRank());
}

namespace {

// The legacy API could compute them too, but more slowly.
TEST(GpuDeviceTest, ConvolutionsAreByCudnnsEngines) {
  if (!GpuStatus().ok()) GTEST_SKIP() << GpuStatus().message();
  int64_t convolutions = 0;
  for (const OpCase& op_case : AllOpCases().good) {
    if (!op_case.name.starts_with("Conv2D") ||
        !op_case.name.ends_with("MultiplesOfEightInBFloat16")) {
      continue;
    }
    SCOPED_TRACE(op_case.name);
    ASSERT_OK_AND_ASSIGN(
        const std::vector<KernelAlgorithm> list,
        ListAlgorithms(op_case, {.factory = GpuFactory(op_case.op)}));
    ASSERT_FALSE(list.empty());
    EXPECT_THAT(list[0].name, ::testing::StartsWith("engine "));
    ++convolutions;
  }
  EXPECT_EQ(convolutions, 3);
}

}  // namespace

}  // namespace spillway::testing
