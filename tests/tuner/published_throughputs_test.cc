// Compares predictions with benchmarks/published_throughputs.json: measurements
// by others on these GPUs. The shipped profiles' efficiencies were fitted to
// some of them. Each prediction is within the error that the table states.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "models/zoo.h"
#include "nlohmann/json.hpp"
#include "simulator/shipped_profiles.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"
#include "tuner/simulate.h"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;
using testing::IsOk;

Json Published() {
  const std::string path =
      testing::SourcePath("benchmarks/published_throughputs.json");
  const auto text = ReadFile(path);
  EXPECT_THAT(text, IsOk());
  return text.ok() ? ParseJson(*text, path).value_or(Json()) : Json();
}

// The machine of a row. Images are on the device from the start, so copies take
// no time.
DeviceProfile MachineOf(const Json& row) {
  DeviceProfile profile =
      ShippedProfile(row["profile"].get<std::string>()).value();
  profile.to_host = {.latency_ns = 0,
                     .bytes_per_second = kMostProfileRate,
                     .shared_bytes_per_second = kMostProfileRate};
  profile.to_device = profile.to_host;
  profile.memory_bytes_per_second =
      row.value("memory_bytes_per_second", profile.memory_bytes_per_second);
  return profile;
}

// As tf_cnn_benchmarks trains: SGD with a weight decay of 4e-5.
absl::StatusOr<double> PredictedImagesPerSecond(const Json& row) {
  const bool is_half = row["precision"] == "fp16";
  const auto batch = row["batch_size"].get<int64_t>();
  GraphBuilder g("published");
  SPILLWAY_ASSIGN_OR_RETURN(
      const ModelGraph model,
      BuildModel(g, row["network"].get<std::string>(),
                 {.batch_size = batch,
                  .dtype = is_half ? DType::kFloat16 : DType::kFloat32}));
  Minimize(g.Scope("optimizer"), model.loss, Sgd(),
           {.weight_decay = 4e-5, .loss_scale = is_half ? 128.0 : 1.0});
  SPILLWAY_ASSIGN_OR_RETURN(const Graph graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(const StepPrediction predicted,
                            Simulate({.graph = graph, .fetches = {model.loss}},
                                     {.device = "cpu",
                                      .threads = 1,
                                      .device_memory = int64_t{4} << 40,
                                      .lms = {.mode = LmsMode::kOff},
                                      .schedule = ScheduleKind::kCreation,
                                      .profile = MachineOf(row)}));
  SPILLWAY_RETURN_IF_ERROR(predicted.fits);
  return 1e9 * static_cast<double>(batch) /
         static_cast<double>(predicted.step.step_ns);
}

TEST(PublishedThroughputsTest, EveryPredictionIsWithinTheStatedError) {
  const Json published = Published();
  std::map<std::string, Json> stated;  // by profile
  for (const Json& family : published["families"]) {
    for (const Json& profile : family["profiles"]) {
      stated[profile.get<std::string>()] = family["stated_error"];
    }
  }
  for (const Json& row : published["rows"]) {
    SCOPED_TRACE(row.dump());
    ASSERT_OK_AND_ASSIGN(const double images, PredictedImagesPerSecond(row));
    const double error = images / row["images_per_sec"].get<double>() - 1;
    EXPECT_LE(std::abs(error),
              stated
                  .at(row["profile"]
                          .get<std::string>())[row["use"].get<std::string>()]
                  .get<double>());
  }
}

TEST(PublishedThroughputsTest, EveryProfileHasAFamilyAndEveryRowASource) {
  const Json published = Published();
  std::multiset<std::string> profiles;
  std::map<std::string, std::set<std::string>> networks;  // by family; fitted
  for (const Json& family : published["families"]) {
    const auto name = family["name"].get<std::string>();
    int rows = 0;
    for (const Json& row : published["rows"]) {
      if (std::ranges::count(family["profiles"], row["profile"]) == 0 ||
          row["use"] != "fit") {
        continue;
      }
      networks[name].insert(row["network"].get<std::string>());
      ++rows;
    }
    // Fewer parameters are fitted than rows were published.
    EXPECT_TRUE(rows == 0 || family["parameters"].size() < size_t(rows));
    for (const Json& profile : family["profiles"]) {
      profiles.insert(profile.get<std::string>());
    }
  }
  const std::vector<std::string> shipped = ShippedProfileNames();
  EXPECT_EQ(profiles,
            std::multiset<std::string>(shipped.begin(), shipped.end()));
  EXPECT_EQ(networks["P100"].size(), 6u);
  EXPECT_EQ(networks["V100"].size(), 6u);
  for (const Json& row : published["rows"]) {
    const Json& source = published["sources"][row["source"].get<std::string>()];
    for (const char* field :
         {"title", "where", "table", "date", "setup", "networks"}) {
      EXPECT_TRUE(source.contains(field)) << row << field;
    }
  }
}

}  // namespace
}  // namespace spillway
