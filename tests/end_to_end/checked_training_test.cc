// Training with every access checked (executor/checked/checked_executor.h): no
// error is found, results are bitwise identical to those of the normal
// executor, and the memory measured from the bytes is the predicted memory.
#include <string>
#include <vector>

#include "ops/cpu/lanes.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::IsOk;
using testing::TrainedModel;
using testing::TrainModel;
using testing::TrainModelSpec;

void ExpectSameBitsAndExactMemory(const TrainedModel& checked,
                                  const TrainedModel& normal) {
  EXPECT_EQ(checked.losses, normal.losses);
  EXPECT_EQ(checked.checksum, normal.checksum);
  const MemoryUse& memory = checked.memory;
  EXPECT_EQ(memory.measured_device_bytes, memory.predicted_device_bytes);
  EXPECT_EQ(memory.measured_host_bytes, memory.predicted_host_bytes);
}

// Several steps use both orders of the checked executor in turn.
class CheckedStepsTest : public ::testing::TestWithParam<LmsOptions> {};

TEST_P(CheckedStepsTest, NothingIsFoundAndNoBitChanges) {
  std::vector<DType> dtypes = {DType::kFloat32};
  if (HasAvx512()) dtypes.push_back(DType::kBFloat16);  // oneDNN requires it
  for (const DType dtype : dtypes) {
    for (const std::string device : {"inline", "cpu"}) {
      SCOPED_TRACE(::testing::Message() << DTypeName(dtype) << " " << device);
      TrainModelSpec spec = {.model = "resnet20",
                             .image_size = 16,
                             .dtype = dtype,
                             .steps = 4,
                             .device = device,
                             .threads = 1,
                             .lms = GetParam()};
      ASSERT_OK_AND_ASSIGN(const TrainedModel normal, TrainModel(spec));
      spec.check_memory = true;
      ASSERT_OK_AND_ASSIGN(const TrainedModel checked, TrainModel(spec));
      ExpectSameBitsAndExactMemory(checked, normal);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lms, CheckedStepsTest,
    ::testing::Values(
        LmsOptions{},  //
        LmsOptions{.mode = LmsMode::kV1},
        LmsOptions{
            .mode = LmsMode::kV1,
            .v1 = {.lb = 3, .ctrld_strategy = ControlStrategy::kDirectOrder}},
        LmsOptions{.mode = LmsMode::kV2,
                   .v2 = {.swapout_threshold = 1,
                          .swapin_ahead = 1,
                          .swapin_groupby = 0,
                          .sync_mode = 0}},
        LmsOptions{.mode = LmsMode::kV2,
                   .v2 = {.swapout_threshold = 1,
                          .swapin_ahead = 3,
                          .swapin_groupby = 3,
                          .sync_mode = 3}}));

}  // namespace
}  // namespace spillway
