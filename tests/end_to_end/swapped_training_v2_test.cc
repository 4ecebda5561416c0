// Training with version 2 of LMS is bitwise identical to training without, and
// every byte is where the plan said, also with swap-outs for which compute
// waits, and with serialized levels.
#include "tests/end_to_end/train_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ExpectExactMemory;
using testing::TrainedModel;
using testing::TrainModel;
using testing::TrainModelSpec;

LmsOptions V2(int64_t ahead, int64_t groupby, int64_t sync_mode) {
  return {.mode = LmsMode::kV2,
          .v2 = {.swapout_threshold = 1,
                 .swapin_ahead = ahead,
                 .swapin_groupby = groupby,
                 .sync_mode = sync_mode}};
}

// Every value of every option, each with every value of the sync mode.
std::vector<LmsOptions> Variants() {
  std::vector<LmsOptions> variants;
  for (const int64_t sync_mode : {0, 1, 2, 3}) {
    for (const int64_t ahead : {1, 2, 3}) {
      variants.push_back(V2(ahead, ahead == 2 ? 3 : 0, sync_mode));
    }
    LmsOptions compat = V2(1, 3, sync_mode);
    compat.compat = true;
    variants.push_back(compat);
    LmsOptions serial = V2(1, 0, sync_mode);
    serial.v2.serialization = {"2:30", "26", "-20:-5"};
    variants.push_back(serial);
    serial.v2.serialization = {"::2"};
    serial.v2.serialization_by_size_gib = 1e-5;
    variants.push_back(serial);
  }
  return variants;
}

std::string Describe(const LmsOptions& options) {
  return "ahead " + std::to_string(options.v2.swapin_ahead) + " groupby " +
         std::to_string(options.v2.swapin_groupby) + " sync_mode " +
         std::to_string(options.v2.sync_mode) +
         (options.compat ? " compat" : "") +
         (options.v2.serialization.empty() ? "" : " serialized");
}

// One variant for each sync mode.
std::vector<LmsOptions> FewVariants() {
  std::vector<LmsOptions> variants = {V2(1, 0, 0), V2(3, 3, 1), V2(2, 0, 2),
                                      V2(1, 3, 3)};
  variants[1].v2.serialization = {"2:60"};
  variants[3].compat = true;
  return variants;
}

void ExpectSwappingChangesNothing(const TrainModelSpec& spec,
                                  const std::vector<LmsOptions>& variants) {
  ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
  ExpectExactMemory(kept);
  for (const std::string device : {"inline", "cpu"}) {
    for (const LmsOptions& options : variants) {
      SCOPED_TRACE(device + " " + Describe(options));
      TrainModelSpec swapped = spec;
      swapped.device = device;
      swapped.link_gbps = device == "cpu" ? 2.0 : 0.0;
      swapped.lms = options;
      ASSERT_OK_AND_ASSIGN(const TrainedModel run, TrainModel(swapped));
      EXPECT_EQ(run.losses, kept.losses);
      EXPECT_EQ(run.checksum, kept.checksum);
      ExpectExactMemory(run);
      EXPECT_GT(run.swap_outs_in_graph, 0);
      EXPECT_EQ(run.copies.swap_outs, run.swap_outs_in_graph * spec.steps);
    }
  }
}

TEST(SwappedTrainingV2Test, Lenet) {
  ExpectSwappingChangesNothing({.model = "lenet", .steps = 2}, Variants());
}

TEST(SwappedTrainingV2Test, SmallResidualNetwork) {
  ExpectSwappingChangesNothing({.model = "resnet50",
                                .batch_size = 2,
                                .image_size = 32,
                                .optimizer = Sgd{.learning_rate = 0.001},
                                .steps = 2},
                               FewVariants());
}

// Swapping in step with compute needs less memory than keeping everything.
TEST(SwappedTrainingV2Test, SynchronousSwappingSavesMemory) {
  TrainModelSpec spec{
      .model = "lenet", .batch_size = 64, .optimizer = Sgd{}, .steps = 1};
  ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
  spec.lms = V2(1, 0, 3);
  spec.device_memory = kept.memory.predicted_device_bytes * 8 / 10;
  ASSERT_OK_AND_ASSIGN(const TrainedModel swapped, TrainModel(spec));
  EXPECT_LE(swapped.memory.measured_device_bytes, *spec.device_memory);
  EXPECT_EQ(swapped.losses, kept.losses);
}

}  // namespace
}  // namespace spillway
