#include "executor/plan/memory_shortage.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr int64_t kBudget = 1 << 20;

MemoryShortage Shortage() {
  return {.needed_bytes = 3 * kBudget,
          .budget_bytes = kBudget,
          .floor_bytes = 2 * kBudget,
          .floor_node = "a \"quoted\" node",
          .is_tuned = true,
          .step_ns = 7,
          .unlimited_step_ns = 5};
}

class MemoryShortageTest : public ::testing::Test {
 protected:
  MemoryShortageTest() { SetShortagePayloads(true); }
  ~MemoryShortageTest() override { SetShortagePayloads(false); }
};

TEST_F(MemoryShortageTest, TheNumbersComeBackFromItsError) {
  const absl::Status error = ShortageError(Shortage());
  EXPECT_EQ(error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ShortageOf(error), Shortage());
  EXPECT_EQ(ShortageOf(Annotate(Annotate(error, "inner"), "outer")),
            Shortage());
  EXPECT_EQ(ShortageOf(WithMessage(error, "other words")), Shortage());
}

TEST_F(MemoryShortageTest, AStatusPrintsItsMessageAlone) {
  SetShortagePayloads(false);
  const absl::Status error = ShortageError(Shortage());
  EXPECT_EQ(error.ToString(),
            "RESOURCE_EXHAUSTED: " + std::string(error.message()));
  EXPECT_EQ(ShortageOf(error), std::nullopt);
}

TEST_F(MemoryShortageTest, OtherErrorsHaveNone) {
  EXPECT_EQ(ShortageOf(ResourceExhausted("no memory")), std::nullopt);
  EXPECT_EQ(ShortageOf(absl::OkStatus()), std::nullopt);
}

}  // namespace
}  // namespace spillway
