#include "simulator/device_profile.h"

#include <filesystem>

#include "base/file.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

std::string ShippedText() {
  return ReadFile(testing::ProfilePath("p100_pcie")).value();
}

TEST(DeviceProfileTest, EveryShippedProfileIsReadAndNamesItsSource) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           testing::SourcePath("simulator/profiles"))) {
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
       "field \"memory_bytes\" is missing"},
      {With("17179869184", "0"), "field \"memory_bytes\" must be a number"},
      {With("17179869184", "1.5"), "field \"memory_bytes\" must be an integer"},
      {With("0.75", "1.5"), "field \"memory_efficiency\" must be a number"},
      {With("\"float32\"", "\"float23\""),
       "flops_per_second: field "
       "\"float32\" is missing"},
      {With("\"float16\"", "\"int8\""),
       "flops_per_second: unknown field \"int8\""},
      {With("\"latency_ns\": 10000", "\"latency_ns\": -1"),
       "to_host: field \"latency_ns\" must be a number"},
      {With("\"issue_ns\"", "\"issues_ns\""), "\"issue_ns\" is missing"},
      {"[]", "text must be an object"}};
  for (const auto& [text, message] : bad) {
    SCOPED_TRACE(message);
    EXPECT_THAT(
        ParseDeviceProfile(text, "text"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

// Sets every field to a number that is not round.
DeviceProfile FullProfile() {
  return {
      .name = "made up",
      .source = "a \"test\"",
      .libraries = "cuDNN 9.13.0, cuBLASLt 13.0.2",
      .memory_bytes = 123456789012345,
      .to_host = {.latency_ns = 17,
                  .bytes_per_second = 1e10 / 3,
                  .shared_bytes_per_second = 1e9 / 7,
                  .by_size = {{.bytes = 1, .alone_ns = 2, .shared_ns = 3},
                              {.bytes = 9'000'000'000'000'000,
                               .alone_ns = 8'999'999'999'999'999,
                               .shared_ns = 1}}},
      .to_device = {.latency_ns = 0,
                    .bytes_per_second = 1.1,
                    .shared_bytes_per_second = 1},
      .memory_bytes_per_second = 0.1 + 0.2 + 1e11,
      .memory_efficiency = 1.0 / 3,
      .flops_per_second = {{DType::kFloat32, 1e12 / 9},
                           {DType::kBFloat16, 1e13 / 11}},
      .compute_efficiency = 0.7,
      .convolution_efficiency =
          {{DType::kFloat32,
            {.pointwise = 0.1 + 0.2, .winograd = 4, .other = 0.01}},
           {DType::kBFloat16,
            {.pointwise = 1, .winograd = 1.0 / 7, .other = 1.0 / 3}}},
      .kernel_ns = 5,
      .issue_ns = 6,
      .call_ns = 7,
      .wake_ns = 8,
      .kernel_ns_per_copied_byte = 0.1 / 3,
      .in_turn = true,
      .network =
          NetworkModel{
              .between_hosts = {.latency_ns = 9, .bytes_per_second = 1.5},
              .within_host = {.latency_ns = 0, .bytes_per_second = 1e10 / 3},
              .ranks_per_host = 4,
              .all_reduce = AllReduceAlgorithm::kTree,
              .contention = 1.0 / 3,
              .is_staged = true,
              .jitter = 0.1 + 0.2},
      .kernels = {{"Relu(float32[2]) -> float32[2]", 0},
                  {"Mystery{kind=\"a \\ b\"}() -> int32[1, 2]", 41}},
      .algorithms = {{"Relu(float32[2]) -> float32[2]",
                      {{"fast", {.workspace_bytes = 1 << 20, .ns = 3}},
                       {"small", {.workspace_bytes = 0, .ns = 19}}}}}};
}

TEST(DeviceProfileTest, WhatIsWrittenIsReadBack) {
  const DeviceProfile full = FullProfile();
  const std::string text = FormatDeviceProfile(full);
  ASSERT_OK_AND_ASSIGN(const DeviceProfile read,
                       ParseDeviceProfile(text, "text"));
  EXPECT_EQ(read, full);
  EXPECT_EQ(FormatDeviceProfile(read), text);
}

TEST(DeviceProfileTest, FilesFromBeforeTheTablesStayAsTheyWere) {
  ASSERT_OK_AND_ASSIGN(const DeviceProfile profile,
                       ParseDeviceProfile(ShippedText(), "text"));
  EXPECT_TRUE(profile.to_host.by_size.empty());
  EXPECT_TRUE(profile.kernels.empty());
  EXPECT_FALSE(profile.in_turn);
  EXPECT_EQ(FormatDeviceProfile(profile), ShippedText());
}

TEST(DeviceProfileTest, BadMeasurementsAreNamed) {
  const std::string text = FormatDeviceProfile(FullProfile());
  const auto with = [&](const std::string& old_text,
                        const std::string& new_text) {
    std::string changed = text;
    const size_t at = changed.find(old_text);
    EXPECT_NE(at, std::string::npos) << old_text;
    return changed.replace(at, old_text.size(), new_text);
  };
  const std::vector<std::pair<std::string, std::string>> bad = {
      {with("9000000000000000", "1"),
       "to_host: by_size[1]: field \"bytes\" must be more than 1"},
      {with("9000000000000000", "9e18"), "field \"bytes\" must be a number"},
      {with("\"alone_ns\": 2", "\"alone_ns\": 0"),
       "to_host: by_size[0]: field \"alone_ns\" must be a number from 1"},
      {with("\"alone_ns\": 2", "\"alone_ns\": null"),
       "field \"alone_ns\" must be a number"},
      {with("\"shared_ns\": 3", "\"shared\": 3"),
       "field \"shared_ns\" is missing"},
      {with("\"shared_ns\": 3", "\"shared_ns\": 3, \"x\": 1"),
       "by_size[0]: unknown field \"x\""},
      {with("\"in_turn\": true", "\"in_turn\": 1"),
       "field \"in_turn\" must be true or false"},
      {with("\"call_ns\": 7", "\"call_ns\": -7"), "field \"call_ns\" must be"},
      {with("\"wake_ns\": 8", "\"wake_ns\": 0.5"),
       "field \"wake_ns\" must be an integer"},
      {with("\"kernel_ns_per_copied_byte\": 0",
            "\"kernel_ns_per_copied_byte\": 9999"),
       "field \"kernel_ns_per_copied_byte\" must be a number from 0"},
      {with("\"latency_ns\": 9", "\"latency_ns\": -9"),
       "network: between_hosts: field \"latency_ns\" must be"},
      {with("\"bytes_per_second\": 1.5", "\"bytes_per_second\": 0"),
       "between_hosts: field \"bytes_per_second\" must be a number from 1"},
      {with("\"tree\"", "\"star\""),
       "network: field \"allreduce\" must be ring, tree or hierarchical, not "
       "\"star\""},
      {with("\"ranks_per_host\": 4", "\"ranks_per_host\": 0"),
       "field \"ranks_per_host\" must be"},
      {with("\"contention\"", "\"share\""), "network: unknown field \"share\""},
      {with("[2]\": 0", "[2]\": -1"),
       "kernels: field \"Relu(float32[2]) -> float32[2]\" must be a number"},
      {with("[2]\": 0", "[2]\": \"fast\""), "must be a number from 0"},
      {with("Relu(float32[2])",
            "Mystery{kind=\\\"a \\\\ b\\\"}() -> int32[1, 2]\": 1, \"x"),
       "Mystery"}};
  for (const auto& [changed, message] : bad) {
    SCOPED_TRACE(message);
    EXPECT_THAT(
        ParseDeviceProfile(changed, "text"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(DeviceProfileTest, BadConvolutionEfficienciesAreNamed) {
  const auto with = [](const std::string& dtypes) {
    std::string text = FormatDeviceProfile(
        {.name = "made up",
         .source = "a test",
         .memory_bytes = 1,
         .to_host = {.bytes_per_second = 1, .shared_bytes_per_second = 1},
         .to_device = {.bytes_per_second = 1, .shared_bytes_per_second = 1},
         .memory_bytes_per_second = 1,
         .flops_per_second = {{DType::kFloat32, 1}}});
    const std::string before = "\"kernel_ns\"";
    return text.replace(
        text.find(before), before.size(),
        "\"convolution_efficiency\": " + dtypes + ", " + before);
  };
  const std::string parts = R"("winograd": 2, "other": 0.5)";
  EXPECT_THAT(ParseDeviceProfile(
                  with(R"({"float32": {"pointwise": 1, )" + parts + "}}"), "p"),
              IsOk());
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"1", "field \"convolution_efficiency\" must be an object"},
      {R"({"float32": 1})",
       "convolution_efficiency: field \"float32\" must be"},
      {R"({"float32": {)" + parts + "}}",
       "convolution_efficiency: float32: field \"pointwise\" is missing"},
      {R"({"float32": {"pointwise": 0, )" + parts + "}}",
       "field \"pointwise\" must be a number from 0.01 to 4"},
      {R"({"float32": {"pointwise": 4.1, )" + parts + "}}",
       "field \"pointwise\" must be a number from 0.01 to 4"},
      {R"({"float32": {"pointwise": 1, "1x1": 1, )" + parts + "}}",
       "unknown field \"1x1\""},
      {R"({"float16": {"pointwise": 1, )" + parts + "}}",
       "field \"float16\" must be left out: flops_per_second has no such rate"},
      {R"({"int8": 1})", "convolution_efficiency: unknown field \"int8\""}};
  for (const auto& [dtypes, message] : bad) {
    SCOPED_TRACE(message);
    EXPECT_THAT(
        ParseDeviceProfile(with(dtypes), "p"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(DeviceProfileTest, TablesAndKernelsOfAnotherKindAreRefused) {
  for (const char* table : {"[]", "{}", "7", "[3]"}) {
    EXPECT_THAT(
        ParseDeviceProfile(
            With("\"latency_ns\": 10000",
                 std::string("\"latency_ns\": 1, \"by_size\": ") + table),
            "text"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("by_size")))
        << table;
  }
  EXPECT_THAT(
      ParseDeviceProfile(With("\"name\"", "\"kernels\": [1], \"name\""),
                         "text"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("field \"kernels\" must be an object, not a list")));
}

}  // namespace
}  // namespace spillway
