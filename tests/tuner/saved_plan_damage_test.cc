// Invalid plan files.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "nlohmann/json.hpp"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/made_plan.h"
#include "tuner/saved_plan.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::LeastCases;
using testing::MakePlan;
using testing::NumCases;
using testing::RandomTrainingGraph;
using testing::StatusIs;
using Json = nlohmann::ordered_json;

using testing::kInvalid;

// A valid file as JSON, for modification.
class SpoiltPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const SavedPlan plan,
                         MakePlan(graph_, {.mode = LmsMode::kV2,
                                           .v2 = {.swapout_threshold = 2,
                                                  .swapin_ahead = 1,
                                                  .swapin_groupby = 0,
                                                  .sync_mode = 1,
                                                  .serialization = {"2:6"}}}));
    ASSERT_OK_AND_ASSIGN(text_, FormatSavedPlan(plan, graph_));
    ASSERT_OK_AND_ASSIGN(good_, ParseJson(text_, "plan"));
    ASSERT_FALSE(good_["swaps"].empty());
    ASSERT_FALSE(good_["orders"].empty());
  }

  // Leaves out each field of `part`, which belongs to `spoilt`, and gives it
  // each wrong type, in turn.
  void ExpectFieldsAreChecked(Json& spoilt, Json& part) {
    const Json original = part;
    for (const auto& [field, value] : original.items()) {
      part = original;
      part.erase(field);
      ExpectRefused(spoilt, field);
      for (const Json& wrong : WrongFor(value)) {
        part = original;
        part[field] = wrong;
        ExpectRefused(spoilt, field);
      }
    }
    part = original;
  }

  void ExpectRefused(const Json& spoilt, const std::string& field) {
    // Names the graph for errors; a plan of this graph does not need it.
    if (field == "graph") return;
    const auto parsed = ParseSavedPlan(spoilt.dump(), "plan.json", graph_);
    EXPECT_THAT(parsed, StatusIs(kInvalid, AllOf(HasSubstr("plan.json"),
                                                 HasSubstr(field))))
        << field << " " << spoilt.dump().substr(0, 2000);
  }

  static std::vector<Json> WrongFor(const Json& value) {
    std::vector<Json> wrong = {true, 1.5, Json::object({{"a", 1}})};
    if (!value.is_string()) wrong.emplace_back("text");
    if (!value.is_array()) wrong.push_back(Json::array({1}));
    if (value.is_number()) wrong.emplace_back(-1);
    if (value.is_string()) wrong.emplace_back("no/such");
    if (value.is_array()) wrong.push_back(Json::array({"no/such"}));
    return wrong;
  }

  const Graph graph_ = RandomTrainingGraph({.seed = 5});
  std::string text_;
  Json good_;
};

TEST_F(SpoiltPlanTest, EveryFieldIsNeededAndOfItsKind) {
  Json spoilt = good_;
  const Json original = good_;
  for (const auto& [field, value] : original.items()) {
    spoilt = original;
    spoilt.erase(field);
    ExpectRefused(spoilt, field);
    for (const Json& wrong : WrongFor(value)) {
      if (field == "name" && wrong.is_string()) continue;
      if (field == "options" && wrong.is_object()) continue;
      spoilt[field] = wrong;
      ExpectRefused(spoilt, field);
    }
  }
}

TEST_F(SpoiltPlanTest, SoIsEveryFieldInIt) {
  Json spoilt = good_;
  ExpectFieldsAreChecked(spoilt, spoilt["swaps"][0]["swap_ins"][0]);
  ExpectFieldsAreChecked(spoilt, spoilt["orders"][0]);
  Json& swap = spoilt["swaps"][0];
  const Json original = swap;
  for (const char* field : {"tensor", "swap_ins", "waiters"}) {
    swap = original;
    swap.erase(field);
    ExpectRefused(spoilt, field);
  }
  for (const char* tensor : {"no/such:0", "no/such", ""}) {
    swap = original;
    swap["tensor"] = tensor;
    ExpectRefused(spoilt, "swaps");
  }
  for (const char* field : {"swap_ins", "waiters"}) {
    swap = original;
    swap[field] = Json::array({"no/such"});
    ExpectRefused(spoilt, field == std::string("waiters") ? field : "swap_ins");
  }
  swap = original;
  swap["swap_ins"] = Json::array();
  ExpectRefused(spoilt, "swap_ins");
}

TEST_F(SpoiltPlanTest, SwapsThatWouldChangeTheResultAreRefused) {
  Json spoilt = good_;
  // A duplicate.
  spoilt["swaps"].push_back(spoilt["swaps"][0]);
  ExpectRefused(spoilt, "swaps");
  // A node that does not read the tensor.
  spoilt = good_;
  spoilt["swaps"][0]["swap_ins"][0]["readers"] = {graph_.node(NodeId(0)).name};
  ExpectRefused(spoilt, "swaps");
  // A cycle: the copy back waits for its own reader.
  spoilt = good_;
  Json& swap_in = spoilt["swaps"][0]["swap_ins"][0];
  swap_in["triggers"] = swap_in["readers"];
  ExpectRefused(spoilt, "swaps");
  // A node before itself.
  spoilt = good_;
  spoilt["orders"][0]["before"] = spoilt["orders"][0]["after"];
  ExpectRefused(spoilt, "before");
}

TEST_F(SpoiltPlanTest, StepsAreChecked) {
  for (const Json& step :
       {Json("a"), Json::array({"f0"}), Json::array({1, 2, 3}),
        Json::array({"no/such", 1, 2}), Json::array({"f0", 1.5, 2}),
        Json::array({"f0", 1, "2"}), Json::array({"f0", 1, 2, 3}),
        Json::array({"f0", -1, 2}), Json::array({"f0", 3, 2}),
        Json::array({"f0", uint64_t{1} << 63, 2})}) {
    Json spoilt = good_;
    spoilt["steps"][1] = step;
    ExpectRefused(spoilt, "steps");
  }
}

TEST_F(SpoiltPlanTest, NumbersHaveBounds) {
  Json spoilt = good_;
  spoilt["placement"] = 1001;
  ExpectRefused(spoilt, "placement");
  for (const char* field :
       {"device_memory", "host_memory", "placed_within", "step_ns",
        "peak_device_bytes", "peak_host_bytes"}) {
    spoilt = good_;
    spoilt[field] = uint64_t{1} << 63;
    ExpectRefused(spoilt, field);
    spoilt[field] = 1e30;
    ExpectRefused(spoilt, field);
  }
}

// The only allowed outcomes are a valid plan and INVALID_ARGUMENT.
TEST_F(SpoiltPlanTest, DamagedBytesAreAPlanOrAnError) {
  int refused = 0;
  for (uint32_t seed = 0; seed < NumCases(1500); ++seed) {
    std::mt19937 random(seed);
    std::string text = text_;
    // Mostly after the fingerprint: else all damage is found there.
    const size_t begin = random() % 10 == 0 ? 0 : text.find("\"name\"");
    for (uint32_t hits = 1 + random() % 4; hits > 0; --hits) {
      const size_t at = begin + random() % (text.size() - begin);
      const size_t from = begin + random() % (text.size() - begin);
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        case 2:
          text.insert(at, text.substr(from, random() % 200));
          break;
        default:
          text[at] = "0123456789-\"[]{},"[random() % 17];
          break;
      }
    }
    const auto parsed = ParseSavedPlan(text, "damaged", graph_);
    if (parsed.ok()) continue;
    ++refused;
    ASSERT_THAT(parsed, StatusIs(kInvalid, HasSubstr("damaged")))
        << "seed " << seed;
  }
  EXPECT_GT(refused, LeastCases(100));
}

// The same by structure: whole values are replaced by other values of the file.
TEST_F(SpoiltPlanTest, MixedUpValuesAreAPlanOrAnError) {
  const Json flat = good_.flatten();
  std::vector<std::string> paths;
  for (const auto& [path, value] : flat.items()) {
    if (!path.starts_with("/fingerprint")) paths.push_back(path);
  }
  for (uint32_t seed = 0; seed < NumCases(1500); ++seed) {
    std::mt19937 random(seed);
    Json mixed = good_;
    for (uint32_t hits = 1 + random() % 3; hits > 0; --hits) {
      const std::string& to = paths[random() % paths.size()];
      const std::string& from = paths[random() % paths.size()];
      mixed[Json::json_pointer(to)] = flat[from];
    }
    const auto parsed = ParseSavedPlan(mixed.dump(), "mixed", graph_);
    if (parsed.ok()) {
      EXPECT_THAT(FormatSavedPlan(*parsed, graph_), testing::IsOk());
      continue;
    }
    ASSERT_THAT(parsed, StatusIs(kInvalid, HasSubstr("mixed")))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace spillway
