#include "graph/verify.h"

#include <limits>

#include "tests/graph/scalar_ops.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::IsOk;
using ::spillway::testing::RandomTrainingGraph;
using ::spillway::testing::ScalarOps;
using ::spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using testing::kInvalid;

// Verifies a graph of x, y = Negate(x) and the node `spec`.
absl::Status VerifyWith(NodeSpec spec) {
  Graph graph;
  const NodeId x = graph.AddNode(
      {.name = "x",
       .op = "Placeholder",
       .outputs = {TensorType()},
       .attributes = {{"dtype", DType::kFloat32}, {"shape", Shape()}}});
  graph.AddNode({.name = "y",
                 .op = "Negate",
                 .inputs = {graph.output(x)},
                 .outputs = {TensorType()}});
  graph.AddNode(std::move(spec));
  return VerifyGraph(graph, ScalarOps());
}

TEST(VerifyGraphTest, AcceptsGoodGraphs) {
  EXPECT_THAT(VerifyGraph(Graph(), ScalarOps()), IsOk());
  EXPECT_THAT(VerifyWith({.name = "z",
                          .op = "Add",
                          .inputs = {ValueId(0), ValueId(1)},
                          .outputs = {TensorType()}}),
              IsOk());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_THAT(VerifyGraph(RandomTrainingGraph({.seed = seed}), ScalarOps()),
                IsOk())
        << "seed " << seed;
  }
}

TEST(VerifyGraphTest, RefusesWhatTheSchemaRefuses) {
  EXPECT_THAT(VerifyWith({.name = "z",
                          .op = "Add",
                          .inputs = {ValueId(0)},
                          .outputs = {TensorType()}}),
              StatusIs(kInvalid, HasSubstr("z: Add takes 2 inputs")));
  EXPECT_THAT(VerifyWith({.name = "z",
                          .op = "Negate",
                          .inputs = {ValueId(0)},
                          .outputs = {TensorType()},
                          .attributes = {{"typo", 1}}}),
              StatusIs(kInvalid, HasSubstr("z: Negate has no attribute")));
}

TEST(VerifyGraphTest, RefusesOutputsOtherThanInferred) {
  EXPECT_THAT(
      VerifyWith({.name = "z",
                  .op = "Negate",
                  .inputs = {ValueId(0)},
                  .outputs = {{DType::kInt32, {3}}}}),
      StatusIs(kInvalid, HasSubstr("z: outputs[0] is int32[3], but Negate "
                                   "makes float32[]")));
  EXPECT_THAT(
      VerifyWith({.name = "z",
                  .op = "SinCos",
                  .inputs = {ValueId(0)},
                  .outputs = {TensorType()}}),
      StatusIs(kInvalid, HasSubstr("states 1 output, but SinCos has 2")));
}

TEST(VerifyGraphTest, RefusesBadNamesAndShapes) {
  EXPECT_THAT(VerifyWith({.name = "a:b", .op = "Plan"}),
              StatusIs(kInvalid, HasSubstr("colon")));
  EXPECT_THAT(VerifyWith({.name = "z", .op = ""}),
              StatusIs(kInvalid, HasSubstr("z: the op is empty")));
  EXPECT_THAT(
      VerifyWith(
          {.name = "z", .op = "Plan", .outputs = {{DType::kInt32, {0}}}}),
      StatusIs(kInvalid, HasSubstr("z: output 0: ")));
}

TEST(VerifyGraphTest, RefusesNumbersThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const AttributeValue values[] = {
      infinity, AttributeValue::List{1, infinity},
      AttributeValue::Object{{"deep", AttributeValue::List{infinity}}}};
  for (const AttributeValue& value : values) {
    EXPECT_THAT(
        VerifyWith(
            {.name = "z", .op = "Plan", .attributes = {{"scale", value}}}),
        StatusIs(kInvalid, HasSubstr("attribute 'scale'")));
  }
}

TEST(VerifyGraphTest, RefusesCostsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<StatedCost, std::string> bad[] = {
      {{.flops = -1}, "flops"},       {{.flops = nan}, "flops"},
      {{.bytes = 1e300}, "bytes"},    {{.workspace_bytes = -1}, "workspace"},
      {{.time_us = 1e10}, "time_us"},
  };
  for (const auto& [cost, field] : bad) {
    EXPECT_THAT(VerifyWith({.name = "z", .op = "Plan", .cost = cost}),
                StatusIs(kInvalid, AllOf(HasSubstr("z: cost: " + field),
                                         HasSubstr("between 0 and"))));
  }
  const StatedCost good = {.flops = 1e18,
                           .bytes = 1e12,
                           .workspace_bytes = int64_t{1} << 50,
                           .time_us = 1e9};
  EXPECT_THAT(VerifyWith({.name = "z", .op = "Plan", .cost = good}), IsOk());
}

TEST(VerifyGraphTest, RefusesSumsOfBytesThatWouldOverflow) {
  const TensorType half_pebibyte = {DType::kInt64, {int64_t{1} << 45}};
  EXPECT_THAT(VerifyWith({.name = "z",
                          .op = "Plan",
                          .outputs = std::vector(1000, half_pebibyte)}),
              IsOk());
  EXPECT_THAT(VerifyWith({.name = "z",
                          .op = "Plan",
                          .outputs = std::vector(100000, half_pebibyte)}),
              StatusIs(kInvalid, HasSubstr("z: ")));
}

TEST(VerifyGraphTest, RefusesCycles) {
  Graph graph;
  graph.AddNode({.name = "a", .op = "Plan"});
  graph.AddNode({.name = "b", .op = "Plan", .control_inputs = {NodeId(0)}});
  graph.AddControlEdge(NodeId(1), NodeId(0));
  EXPECT_THAT(VerifyGraph(graph, ScalarOps()),
              StatusIs(kInvalid, HasSubstr("a -> b -> a")));
}

TEST(VerifyGraphTest, RefusesAReaderBesideAnUpdate) {
  Graph graph;
  const NodeId w = graph.AddNode(
      {.name = "w",
       .op = "Variable",
       .outputs = {TensorType()},
       .attributes = {{"dtype", DType::kFloat32}, {"shape", Shape()}}});
  for (const char* name : {"first", "second"}) {
    graph.AddNode({.name = name,
                   .op = "Assign",
                   .inputs = {graph.output(w), graph.output(w)},
                   .outputs = {TensorType()}});
  }
  EXPECT_THAT(VerifyGraph(graph, ScalarOps()),
              StatusIs(kInvalid, HasSubstr("first and second")));
}

}  // namespace
}  // namespace spillway
