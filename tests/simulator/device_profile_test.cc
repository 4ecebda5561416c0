#include "simulator/device_profile.h"

#include <filesystem>

#include "base/file.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

std::string ShippedText() {
  return ReadFile(SPILLWAY_PROFILES "/p100_pcie.json").value();
}

TEST(DeviceProfileTest, EveryShippedProfileIsReadAndNamesItsSource) {
  int count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(SPILLWAY_PROFILES)) {
    SCOPED_TRACE(file.path());
    ASSERT_OK_AND_ASSIGN(const DeviceProfile profile,
                         ReadDeviceProfile(file.path().string()));
    EXPECT_FALSE(profile.name.empty());
    EXPECT_THAT(profile.source, HasSubstr("NVIDIA"));
    EXPECT_GE(profile.memory_bytes, int64_t{16} << 30);
    // Memory on the device is faster than the link, shared or not.
    for (const LinkDirection& link : {profile.to_host, profile.to_device}) {
      EXPECT_LT(link.bytes_per_second, profile.memory_bytes_per_second);
      EXPECT_LE(link.shared_bytes_per_second, link.bytes_per_second);
    }
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(DeviceProfileTest, FieldsAreReadAsTheyAre) {
  ASSERT_OK_AND_ASSIGN(const DeviceProfile profile,
                       ParseDeviceProfile(ShippedText(), "text"));
  EXPECT_EQ(profile.memory_bytes, int64_t{16} << 30);
  EXPECT_EQ(profile.flops_per_second.at(DType::kFloat32), 9.3e12);
  EXPECT_EQ(profile.flops_per_second.at(DType::kFloat16), 18.7e12);
  EXPECT_EQ(profile.to_device.latency_ns, 10000);
  EXPECT_EQ(profile.to_host.bytes_per_second, 12e9);
}

// The shipped text with one piece replaced.
std::string With(const std::string& old_text, const std::string& new_text) {
  std::string text = ShippedText();
  const size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return text.replace(at, old_text.size(), new_text);
}

TEST(DeviceProfileTest, BadFieldsAreNamed) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {With("spillway.device_profile", "other"), "field \"format\" must be"},
      {With("\"memory_bytes\"", "\"memory_byte\""),
       "field \"memory_bytes\" must be there"},
      {With("17179869184", "0"), "field \"memory_bytes\" must be a number"},
      {With("17179869184", "1.5"), "field \"memory_bytes\" must be an integer"},
      {With("0.75", "1.5"), "field \"memory_efficiency\" must be a number"},
      {With("\"float32\"", "\"float23\""),
       "flops_per_second: field "
       "\"float32\" must be there"},
      {With("\"float16\"", "\"int8\""), "unknown field \"int8\""},
      {With("\"latency_ns\": 10000", "\"latency_ns\": -1"),
       "to_host: field \"latency_ns\" must be a number"},
      {With("\"issue_ns\"", "\"issues_ns\""), "\"issue_ns\" must be there"},
      {"[]", "text must be an object"}};
  for (const auto& [text, message] : bad) {
    SCOPED_TRACE(message);
    EXPECT_THAT(
        ParseDeviceProfile(text, "text"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

}  // namespace
}  // namespace spillway
