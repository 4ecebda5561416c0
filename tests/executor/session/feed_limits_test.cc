#include "executor/session/feed_limits.h"

#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/well_known_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Pair;
using testing::StatusIs;

using testing::kInvalid;
constexpr DType kInt32 = DType::kInt32;

// Placeholder, SwapOut, SwapIn and Cast (new bytes each); Alias; Write
// (overwrites its input and aliases it); Pick (its input "rows" contains
// indices below the attribute "limit").
OpRegistry Ops() {
  OpRegistry ops;
  const auto add = [&](OpDef def) {
    def.infer = [](const InferContext& node) {
      return absl::StatusOr<std::vector<TensorType>>(std::vector{
          node.inputs.empty() ? TensorType{kInt32, {4}} : node.inputs[0]});
    };
    ops.Add(std::move(def));
  };
  add({.name = std::string(kPlaceholder), .outputs = {"y"}});
  for (const std::string_view name :
       {kSwapOut, kSwapIn, std::string_view("Cast")}) {
    add({.name = std::string(name), .inputs = {"x"}, .outputs = {"y"}});
  }
  add({.name = "Alias",
       .inputs = {"x"},
       .outputs = {"y"},
       .alias = {{.input = 0, .output = 0}}});
  add({.name = "Write",
       .inputs = {"x"},
       .outputs = {"y"},
       .alias = {{.input = 0, .output = 0}},
       .mutates = {0}});
  add({.name = "Pick",
       .inputs = {"table", "rows"},
       .outputs = {"y"},
       .attributes = {"limit"},
       .index_inputs = {{.input = 1, .limit = [](const InferContext& node) {
                           return node.attributes.GetInt("limit").value();
                         }}}});
  return ops;
}

struct Made {
  ValueId Add(std::string_view op, std::vector<ValueId> inputs = {},
              std::string name = {}, Attributes attributes = {}) {
    if (name.empty()) name = "n" + std::to_string(graph.num_nodes());
    return graph.output(graph.AddNode({.name = std::move(name),
                                       .op = std::string(op),
                                       .inputs = std::move(inputs),
                                       .outputs = {{kInt32, {4}}},
                                       .attributes = std::move(attributes)}));
  }
  ValueId Pick(ValueId rows, int64_t limit, std::string name) {
    return Add("Pick", {table, rows}, std::move(name), {{"limit", limit}});
  }
  // By placeholder: (limit, reader).
  std::map<ValueId, std::pair<int64_t, std::string>> Limits(
      const std::vector<NodeId>& without = {}) const {
    IdMap<NodeId, bool> keep(graph.num_nodes(), true);
    for (const NodeId id : without) keep[id] = false;
    const auto found = FindFeedLimits(graph, Ops(), keep);
    EXPECT_THAT(found.status(), IsOk());
    std::map<ValueId, std::pair<int64_t, std::string>> limits;
    for (const auto& [id, limit] : *found) {
      limits[id] = {limit.limit, limit.reader};
    }
    return limits;
  }

  Graph graph = Graph("test");
  ValueId table = Add(kPlaceholder);
  ValueId rows = Add(kPlaceholder);
};

TEST(FindFeedLimitsTest, APlaceholderHasThatOfItsReader) {
  Made made;
  made.Pick(made.rows, 10, "pick");
  EXPECT_THAT(made.Limits(), ElementsAre(Pair(made.rows, Pair(10, "pick"))));
}

TEST(FindFeedLimitsTest, AliasesAndSwapsKeepTheNumbers) {
  Made made;
  ValueId rows = made.Add("Alias", {made.Add("Alias", {made.rows})});
  rows = made.Add(kSwapIn, {made.Add(kSwapOut, {rows})});
  made.Pick(made.Add("Alias", {rows}), 10, "pick");
  EXPECT_THAT(made.Limits(), ElementsAre(Pair(made.rows, Pair(10, "pick"))));
}

TEST(FindFeedLimitsTest, WhatTheGraphComputesHasNone) {
  Made made;
  made.Pick(made.Add("Cast", {made.rows}), 10, "pick");
  EXPECT_THAT(made.Limits(), IsEmpty());
}

TEST(FindFeedLimitsTest, AFeedThatIsOverwrittenHasNone) {
  Made made;
  made.Pick(made.Add("Write", {made.Add("Alias", {made.rows})}), 10, "pick");
  EXPECT_THAT(made.Limits(), IsEmpty());
}

TEST(FindFeedLimitsTest, TheLowestOfSeveralReadersCounts) {
  Made made;
  made.Pick(made.rows, 10, "a");
  const ValueId b = made.Pick(made.Add("Alias", {made.rows}), 4, "b");
  made.Pick(made.rows, 4, "c");
  made.Pick(made.rows, 6, "d");
  EXPECT_THAT(made.Limits(), ElementsAre(Pair(made.rows, Pair(4, "b"))));
  EXPECT_THAT(made.Limits({made.graph.producer(b).id}),
              ElementsAre(Pair(made.rows, Pair(4, "c"))));
}

TEST(FindFeedLimitsTest, OnlyNodesThatRunCount) {
  Made made;
  const ValueId pick = made.Pick(made.rows, 10, "pick");
  EXPECT_THAT(made.Limits({made.graph.producer(pick).id}), IsEmpty());
}

TEST(FindFeedLimitsTest, ErrorsNameTheNode) {
  Made made;
  made.Pick(made.rows, -3, "pick");
  const IdMap<NodeId, bool> keep(made.graph.num_nodes(), true);
  EXPECT_THAT(FindFeedLimits(made.graph, Ops(), keep).status(),
              StatusIs(kInvalid,
                       "pick: Pick's rows: the limit of an index must be "
                       "positive; the op says -3"));
}

template <typename T>
absl::Status Check(const std::vector<T>& elements, int64_t limit) {
  const auto size = static_cast<int64_t>(elements.size());
  return CheckRange(Feed(elements), {*ElementDType<T>(), {size}},
                    {.limit = limit, .reader = "loss/xent"});
}

TEST(CheckRangeTest, TheFirstElementOutOfRangeIsNamed) {
  EXPECT_THAT(Check<int32_t>({0, 9, 3}, 10), IsOk());
  EXPECT_THAT(Check<int32_t>({0, 9, 3, 10, -1}, 10),
              StatusIs(kInvalid,
                       "element 3 is 10; loss/xent needs a number in [0, 10)"));
  EXPECT_THAT(Check<int32_t>({-1}, 10),
              StatusIs(kInvalid,
                       "element 0 is -1; loss/xent needs a number in [0, 10)"));
}

TEST(CheckRangeTest, EveryTypeOfIndexIsRead) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(Check<int64_t>({kLarge - 1}, kLarge), IsOk());
  EXPECT_THAT(Check<int64_t>({0, kLarge}, kLarge),
              StatusIs(kInvalid,
                       "element 1 is 1099511627776; loss/xent needs a number "
                       "in [0, 1099511627776)"));
  EXPECT_FALSE(Check<int64_t>({kLeast}, kLarge).ok());
  EXPECT_FALSE(
      Check<int32_t>({std::numeric_limits<int32_t>::min()}, kLarge).ok());
  EXPECT_THAT(Check<uint8_t>({255}, 256), IsOk());
  EXPECT_THAT(Check<uint8_t>({0, 0, 255}, 255),
              StatusIs(kInvalid,
                       "element 2 is 255; loss/xent needs a number in "
                       "[0, 255)"));
}

TEST(CheckRangeTest, DataNeedNotBeAligned) {
  std::vector<std::byte> bytes(9);
  const int32_t labels[2] = {3, 4};
  std::memcpy(bytes.data() + 1, labels, sizeof(labels));
  const TensorType type = {kInt32, {2}};
  EXPECT_THAT(CheckRange(Feed(type, bytes.data() + 1), type, {.limit = 4}),
              StatusIs(kInvalid, ::testing::HasSubstr("element 1 is 4")));
}

}  // namespace
}  // namespace spillway
