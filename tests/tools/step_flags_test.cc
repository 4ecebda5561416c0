#include "tools/spillway/step_flags.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "gtest/gtest.h"

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
      {"swap more (LmsOptions), or lower the batch size",
       "swap more (--lms), or lower the batch size"},
      {"profile: there is no file x", "--profile: there is no file x"},
  };
  for (const auto& [message, expected] : cases) {
    EXPECT_EQ(Translated(message), expected);
  }
}

TEST(InFlagTermsTest, OtherWordsStay) {
  for (const char* message :
       {"--device_memory: 1 GiB is below it", "the device has 3 streams",
        "/tmp/device_memory.json: field \"device_memory\" must be an integer",
        "a plan of another graph", "my_device_memory is no option",
        "2 threads beside 3"}) {
    EXPECT_EQ(Translated(message), message);
  }
}

TEST(InFlagTermsTest, TheCodeStays) {
  EXPECT_TRUE(InFlagTerms(absl::OkStatus()).ok());
  EXPECT_EQ(InFlagTerms(ResourceExhausted("plan: x")).code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace spillway
