// `train --num_devices`: devices of one process that divide its batches.
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/tools/launched_training.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using testing::FlagValues;
using ::testing::HasSubstr;
using testing::Refuses;
using testing::RunProgram;
using testing::ToArguments;
using testing::With;
using Json = nlohmann::ordered_json;

using DeviceGroupTest = testing::LaunchedTraining;

TEST_F(DeviceGroupTest, TrainsAsTheWholeBatch) {
  const Json halves = Alone(2, {{"--batch_size", "4"}});
  const Json group = TrainForJson({{"--num_devices", "2"}});
  EXPECT_EQ(group["losses"], halves["losses"]);
  EXPECT_EQ(group["checksum"], halves["checksum"]);
  EXPECT_EQ(group["batch_size"], 8);
  EXPECT_EQ(group["world_size"], 1);
  EXPECT_EQ(group["num_devices"], 2);
  EXPECT_EQ(group["comm"]["backend"], "thread");
  ASSERT_EQ(group["ranks"].size(), 2U);
  for (const int device : {0, 1}) {
    const Json& of_device = group["ranks"][static_cast<size_t>(device)];
    EXPECT_EQ(of_device["rank"], 0);
    EXPECT_EQ(of_device["device"], device);
    EXPECT_EQ(of_device["checksum"], group["checksum"]);
    EXPECT_EQ(of_device["peak_device_bytes"]["predicted"],
              of_device["peak_device_bytes"]["measured"]);
  }
  EXPECT_EQ(
      TrainForJson({{"--num_devices", "2"}, {"--comm", "thread"}})["checksum"],
      group["checksum"]);
}

TEST_F(DeviceGroupTest, UnequalDevicesHaveTheirPartsOfTheBatch) {
  const Json whole = TrainForJson({});
  const FlagValues loads = {{"--num_devices", "3"},
                            {"--work_load_list", "1,2,1"}};
  const Json group = TrainForJson(loads);
  ExpectLossesNear(group, whole, 1e-4);
  const Json dry = TrainForJson(With(loads, {{"--dry_run", "true"}}));
  EXPECT_EQ(dry["world_size"], 1);
  EXPECT_EQ(dry["num_devices"], 3);
  const Json& windows = dry["updates"][1]["windows"];
  ASSERT_EQ(windows.size(), 3U);
  EXPECT_EQ(windows[1]["rank"], 0);
  EXPECT_EQ(windows[1]["micro"], 0);
  EXPECT_EQ(windows[1]["device"], 1);
  EXPECT_EQ(windows[1]["begin"], 10);
  EXPECT_EQ(windows[1]["end"], 14);
  EXPECT_EQ(windows[1]["weight"], 0.5);
}

TEST_F(DeviceGroupTest, RanksMayHaveSeveralDevices) {
  const Json alone = Alone(2, {});
  const Json groups = LaunchForJson(2, {{"--num_devices", "2"}});
  EXPECT_EQ(groups["world_size"], 2);
  EXPECT_EQ(groups["num_devices"], 2);
  ASSERT_EQ(groups["ranks"].size(), 4U);
  EXPECT_EQ(groups["ranks"][3]["rank"], 1);
  EXPECT_EQ(groups["ranks"][3]["device"], 1);
  for (const Json& worker : groups["ranks"]) {
    EXPECT_EQ(worker["checksum"], groups["checksum"]);
  }
  ExpectLossesNear(groups, alone, 1e-4);
}

TEST_F(DeviceGroupTest, EachDeviceMayHaveItsOwnBudget) {
  const FlagValues flags = {{"--num_devices", "2"},
                            {"--batch_size", "64"},
                            {"--bucket_mb", "0.25"},
                            {"--num_steps", "3"}};
  const Json free = TrainForJson(flags);
  const int64_t peak = free["peak_device_bytes"]["measured"];
  const Json tight = TrainForJson(With(
      flags, {{"--device_memory",
               std::to_string(peak) + "," + std::to_string(peak - 150'000)},
              {"--lms", "auto"}}));
  EXPECT_EQ(tight["losses"], free["losses"]);
  EXPECT_EQ(tight["checksum"], free["checksum"]);
  EXPECT_LE(tight["ranks"][1]["peak_device_bytes"]["measured"], peak - 150'000);
  EXPECT_THAT(
      RunProgram(ToArguments(
          "train", Flags(With(flags, {{"--device_memory", "1G,2G,3G"}})))),
      Refuses(2, HasSubstr("--device_memory: has 3 budgets for a run "
                           "of 1 rank of 2 devices each")));
}

TEST_F(DeviceGroupTest, GoesOnFromACheckpoint) {
  const FlagValues flags = {{"--num_devices", "2"},
                            {"--work_load_list", "3,1"},
                            {"--reduce", "sparse"}};
  const Json whole = TrainForJson(flags);
  TrainForJson(
      With(flags, {{"--num_steps", "4"}, {"--checkpoint", Path("state")}}));
  EXPECT_EQ(
      TrainForJson(With(flags, {{"--resume", Path("state")}}))["checksum"],
      whole["checksum"]);
}

TEST_F(DeviceGroupTest, WhatCannotBeDividedIsRefused) {
  ExpectRefused({
      {{{"--num_devices", "0"}}, "--num_devices"},
      {{{"--num_devices", "9"}}, "a batch of 8 rows for 9 devices"},
      {{{"--num_devices", "2"}, {"--work_load_list", "1,2,3"}},
       "--work_load_list: 3 loads for 2 devices (--num_devices)"},
      {{{"--num_devices", "2"}, {"--work_load_list", "1,0"}},
       "that of device 1 is 0"},
      {{{"--num_devices", "2"}, {"--work_load_list", "1,x"}},
       "--work_load_list: \"1,x\" is not a list of numbers"},
      {{{"--num_devices", "4"},
        {"--batch_size", "6"},
        {"--work_load_rule", "compat"}},
       "leaves no row for device 3"},
      {{{"--work_load_rule", "fair"}},
       "--work_load_rule: \"fair\" is not one of balanced, compat"},
      {{{"--num_devices", "2"}, {"--device", "cuda:1"}},
       "--device: cuda:1 is one GPU"},
  });
}

}  // namespace
}  // namespace spillway
