#include "tools/spillway/flags/tflms_flags.h"

#include <string>

#include "base/units.h"
#include "gmock/gmock.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;

// Parses a command line; throws the exceptions of CLI11.
TflmsFlags Parse(const std::string& line) {
  CLI::App command;
  FlagSet set(command);
  TflmsFlags flags;
  AddTflmsFlags(set, flags);
  command.parse(line);
  return flags;
}

TEST(TflmsFlagsTest, DefaultsAreThoseOfTflms) {
  const TflmsLimits limits = MakeTflmsLimits(Parse(""), 16_GiB);
  EXPECT_EQ(limits.device_bytes, 16_GiB);
  EXPECT_EQ(limits.memory_ratio, 0.9);
  EXPECT_EQ(limits.host_bytes, 64_GiB);
}

TEST(TflmsFlagsTest, UnitsAreGibAndMib) {
  const TflmsFlags flags = Parse(
      "--lms_autotune_gpu_mem 12.5 --lms_sim_mem_ratio 1 "
      "--lms_host_mem_limit_mb 1024");
  const TflmsLimits limits = MakeTflmsLimits(flags, 16_GiB);
  EXPECT_EQ(limits.device_bytes, 12800_MiB);
  EXPECT_EQ(limits.memory_ratio, 1);
  EXPECT_EQ(limits.host_bytes, 1_GiB);
  EXPECT_EQ(MakeTflmsLimits(Parse("--lms_host_mem_limit_mb 0"), 1).host_bytes,
            0);
}

TEST(TflmsFlagsTest, BadValuesNameTheFlag) {
  for (const char* line :
       {"--lms_autotune_gpu_mem 0", "--lms_autotune_gpu_mem=-3",
        "--lms_autotune_gpu_mem 1e30", "--lms_autotune_gpu_mem 4GiB",
        "--lms_autotune_gpu_mem nan", "--lms_sim_mem_ratio 0",
        "--lms_sim_mem_ratio 1.01", "--lms_sim_mem_ratio=-0.5",
        "--lms_sim_mem_ratio x", "--lms_host_mem_limit_mb=-1",
        "--lms_host_mem_limit_mb 9223372036854775807",
        "--lms_host_mem_limit_mb 1.5"}) {
    SCOPED_TRACE(line);
    const std::string text = line;
    try {
      Parse(text);
      ADD_FAILURE() << "taken";
    } catch (const CLI::ValidationError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr(text.substr(0, text.find_first_of(" =")) + ": \""));
    }
  }
}

}  // namespace
}  // namespace spillway
