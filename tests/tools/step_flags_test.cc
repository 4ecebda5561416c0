#include "tools/spillway/flags/step_flags.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/memory_shortage.h"
#include "gtest/gtest.h"
#include "tools/spillway/flags/lms_flags.h"

namespace spillway {
namespace {

std::string Translated(const std::string& message) {
  return std::string(InFlagTerms(InvalidArgument(message)).message());
}

TEST(InFlagTermsTest, OptionsBecomeFlags) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"device_memory: 1 GiB is more", "--device_memory: 1 GiB is more"},
      {"raise host_memory, or swap less", "raise --host_memory, or swap less"},
      {"threads: -1 must be 0", "--threads: -1 must be 0"},
      {"capture_steps: the cpu device has no graphs",
       "--cuda_graph: the cpu device has no graphs"},
      {"device: no device \"abacus\"", "--device: no device \"abacus\""},
      {"none here; use the device cpu", "none here; use --device cpu"},
      {"lms: auto needs the tuner", "--lms: auto needs the tuner"},
      {"lms_lb: -1 is negative", "--lms_lb: -1 is negative"},
      {"name it with lms_optimizer_scopes",
       "name it with --lms_optimizer_scopes"},
      {"profile: there is no file x", "--profile: there is no file x"},
  };
  for (const auto& [message, expected] : cases) {
    EXPECT_EQ(Translated(message), expected);
  }
}

TEST(InFlagTermsTest, OtherWordsStay) {
  for (const char* message :
       {"--device_memory: 1 GiB is below it", "the device has 3 streams",
        "/work/lms_test/lms_lb.json: no file", "--lms_lb: 0 is below 1",
        "the lms mode is off", "field \"lms_lb\" must be an integer",
        "/tmp/device_memory.json: field \"device_memory\" must be an integer",
        "a plan of another graph", "my_device_memory is no option",
        "2 threads beside 3"}) {
    EXPECT_EQ(Translated(message), message);
  }
}

TEST(InFlagTermsTest, ARefusalAdvisesOnlyWhatTheCommandHas) {
  const std::string message(
      ShortageError({.needed_bytes = 9_MiB, .budget_bytes = 3_MiB}).message());
  const auto ending = [&](const Advice& advice) {
    const std::string text(
        InFlagTerms(InvalidArgument(message), advice).message());
    return text.substr(text.rfind("; ") + 2);
  };
  EXPECT_EQ(ending({}),
            "swap or recompute more (--lms auto), or lower the batch size "
            "(simulate --find_max_batch finds the largest that fits)");
  EXPECT_EQ(ending({.has_batch_size = false}),
            "swap or recompute more (--lms auto), or lower the batch size");
  EXPECT_EQ(ending({.may_tune = false, .has_batch_size = false}),
            "swap or recompute more (--lms, --lms_recompute), or lower the "
            "batch size");
}

// The options of a command line, given with its last word first.
StepOptions Parsed(std::vector<std::string> arguments) {
  StepOptions step = DefaultStepOptions();
  CLI::App app;
  FlagSet flags(app);
  AddMemoryFlags(flags, step, {.owner = MemoryOwner::kProfile});
  AddProfileFlag(flags, step, "the machine");
  AddLmsFlags(flags, step.lms);
  app.parse(arguments);
  return step;
}

TEST(MemoryFlagsTest, APercentageIsOfTheProfileThatIsNamed) {
  EXPECT_EQ(Parsed({"50%", "--device_memory", "p100_pcie", "--profile"})
                .device_memory,
            8_GiB);
  EXPECT_EQ(Parsed({"p100_pcie", "--profile", "12.5%", "--device_memory"})
                .device_memory,
            2_GiB);
  EXPECT_EQ(Parsed({"2G", "--device_memory"}).device_memory, 2_GiB);
  EXPECT_EQ(Parsed({}).device_memory, std::nullopt);
}

TEST(MemoryFlagsTest, WithoutAProfileItIsOfWhatIsFree) {
  const int64_t all = *Parsed({"100%", "--device_memory"}).device_memory;
  const int64_t part = *Parsed({"1%", "--device_memory"}).device_memory;
  EXPECT_GT(all, 10 * part);
  EXPECT_LT(all, 1000 * part);
}

TEST(LmsFlagTest, WithoutAValueItMeansAuto) {
  EXPECT_EQ(Parsed({"--lms"}).lms.mode, LmsMode::kAuto);
  EXPECT_EQ(Parsed({"2G", "--device_memory", "--lms"}).lms.mode,
            LmsMode::kAuto);
  EXPECT_EQ(Parsed({"v2", "--lms"}).lms.mode, LmsMode::kV2);
  EXPECT_EQ(Parsed({}).lms.mode, LmsMode::kOff);
}

TEST(InFlagTermsTest, TheCodeStays) {
  EXPECT_TRUE(InFlagTerms(absl::OkStatus()).ok());
  EXPECT_EQ(InFlagTerms(ResourceExhausted("plan: x")).code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace spillway
