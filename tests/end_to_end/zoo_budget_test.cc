// The networks of the zoo train in half and in a quarter of their unconstrained
// memory, bitwise identical to the unconstrained run, or are refused with the
// node of the memory floor. The quarter runs with every access checked
// (executor/checked/checked_executor.h), and so does a run with every tensor
// swapped if neither budget can be met.
//
// SPILLWAY_STRESS adds bfloat16, batches four times as large, and the deepest
// networks of each family.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "models/zoo.h"
#include "tests/end_to_end/small_steps.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::ExpectExactMemory;
using testing::ExpectSameTraining;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SmallSteps;
using testing::StatusIs;
using testing::TrainedModel;
using testing::TrainModel;
using testing::TrainModelSpec;

struct ZooCase {
  std::string model;
  DType dtype = DType::kFloat32;
  int64_t batch_size = 0;
};

std::vector<ZooCase> ZooCases() {
  const bool all = std::getenv("SPILLWAY_STRESS") != nullptr;
  std::vector<ZooCase> cases;
  for (const std::string& model : testing::NetworksToRun()) {
    const int64_t batch_size = SmallSteps().at(model).batch_size;
    const ZooCase first = {.model = model, .batch_size = batch_size};
    cases.push_back(first);
    if (!all) continue;
    cases.push_back(first);
    cases.back().dtype = DType::kBFloat16;
    cases.push_back(first);
    cases.back().batch_size = 4 * batch_size;
  }
  return cases;
}

// In the order in which they are tried.
std::vector<LmsOptions> SwappingOptions() {
  return {
      {.mode = LmsMode::kV1},
      {.mode = LmsMode::kV2,
       .v2 = {.swapout_threshold = 1, .swapin_ahead = 1, .swapin_groupby = 0}}};
}

void ExpectSameBits(const TrainedModel& run, const TrainedModel& free) {
  EXPECT_GT(run.copies.swap_outs, 0);
  ExpectSameTraining(run, free);
}

// Trains with the first options that fit. False if none fits.
bool TrainsWithin(int64_t budget, TrainModelSpec spec,
                  const TrainedModel& free) {
  spec.device_memory = budget;
  for (const LmsOptions& options : SwappingOptions()) {
    spec.lms = options;
    const auto run = TrainModel(spec);
    if (absl::IsResourceExhausted(run.status())) {
      EXPECT_THAT(run.status(), StatusIs(absl::StatusCode::kResourceExhausted,
                                         AllOf(HasSubstr(" missing; "),
                                               HasSubstr("the floor"))));
      continue;
    }
    EXPECT_THAT(run.status(), IsOk());
    if (!run.ok()) return true;
    EXPECT_LE(run->memory.measured_device_bytes, budget);
    ExpectSameBits(*run, free);
    return true;
  }
  return false;
}

class ZooBudgetTest : public ::testing::TestWithParam<ZooCase> {};

TEST_P(ZooBudgetTest, TrainsInAPartOfItsMemoryOrIsRefused) {
  const std::string& name = GetParam().model;
  TrainModelSpec spec = {.model = name,
                         .batch_size = GetParam().batch_size,
                         .image_size = SmallSteps().at(name).image_size,
                         .num_classes = 4,
                         .dtype = GetParam().dtype,
                         .optimizer = Sgd{.learning_rate = 0.001},
                         .steps = 1,
                         .threads = 1};
  ASSERT_OK_AND_ASSIGN(const TrainedModel free, TrainModel(spec));
  ExpectExactMemory(free);
  const int64_t peak = free.memory.measured_device_bytes;
  TrainModelSpec checked = spec;
  checked.check_memory = true;
  spec.device = "cpu";
  const bool half = TrainsWithin(peak / 2, spec, free);
  const bool quarter = TrainsWithin(peak / 4, checked, free);
  RecordProperty("half", half ? "trains" : "refused");
  RecordProperty("quarter", quarter ? "trains" : "refused");
  EXPECT_TRUE(half || !quarter) << "refused although the budget is larger";
  if (half) return;
  checked.lms = {.mode = LmsMode::kV1};
  ASSERT_OK_AND_ASSIGN(const TrainedModel swapped, TrainModel(checked));
  ExpectSameBits(swapped, free);
}

TEST(SmallStepsTest, CoverTheZoo) {
  for (const ModelSpec& model : Zoo()) {
    EXPECT_TRUE(SmallSteps().contains(model.name)) << model.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooBudgetTest, ::testing::ValuesIn(ZooCases()),
                         [](const auto& info) {
                           std::string name =
                               info.param.model + "_" +
                               std::string(DTypeName(info.param.dtype)) + "_" +
                               std::to_string(info.param.batch_size);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace spillway
