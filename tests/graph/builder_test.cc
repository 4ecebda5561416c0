#include "graph/builder.h"

#include "tests/graph/scalar_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::IsOk;
using ::spillway::testing::ScalarOps;
using ::spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class BuilderTest : public ::testing::Test {
 protected:
  const std::string& NameOf(Tensor tensor) {
    return builder_.graph().producer(tensor.id()).name;
  }
  Tensor Feed(std::string_view name, const Shape& shape = {}) {
    return builder_.Placeholder(name, DType::kFloat32, shape);
  }

  const OpRegistry registry_ = ScalarOps();
  GraphBuilder builder_{registry_};
};

TEST_F(BuilderTest, BuildsAVerifiedGraph) {
  const Tensor x = Feed("x", {2, 3});
  const Tensor y = builder_.Add(builder_, {.op = "Mul", .inputs = {x, x}});
  EXPECT_EQ(y.shape(), Shape({2, 3}));
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(builder_).Build());
  EXPECT_EQ(graph.num_nodes(), 2);
  EXPECT_EQ(graph.ValueName(y.id()), "Mul:0");
  EXPECT_EQ(graph.name(), "graph");
}

TEST_F(BuilderTest, NamesFollowScopesAndAreMadeUnique) {
  const Tensor x = Feed("data/x");
  EXPECT_EQ(NameOf(x), "data/x");
  const NameScope scope = builder_.Scope("conv1");
  EXPECT_EQ(scope.prefix(), "conv1/");
  EXPECT_EQ(scope.name(), "conv1");
  EXPECT_EQ(NameScope(builder_).name(), "");
  const OpSpec negate = {.op = "Negate", .inputs = {x}};
  EXPECT_EQ(NameOf(builder_.Add(scope, negate)), "conv1/Negate");
  EXPECT_EQ(NameOf(builder_.Add(scope, negate)), "conv1/Negate_1");
  EXPECT_EQ(NameOf(builder_.Add(scope.Scope("a/b"), negate)),
            "conv1/a/b/Negate");
  EXPECT_EQ(NameOf(builder_.Add(
                scope, {.op = "Negate", .inputs = {x}, .name = "minus"})),
            "conv1/minus");
}

TEST_F(BuilderTest, AddAllReturnsEveryOutput) {
  const Tensor x = Feed("x");
  const std::vector<Tensor> both =
      builder_.AddAll(builder_, {.op = "SinCos", .inputs = {x}});
  ASSERT_EQ(both.size(), 2);
  EXPECT_EQ(builder_.graph().ValueName(both[1].id()), "SinCos:1");
}

TEST_F(BuilderTest, ControlInputsAndEdges) {
  const Tensor x = Feed("x");
  const Tensor a = builder_.Add(builder_, {.op = "Negate", .inputs = {x}});
  const Tensor b = builder_.Add(
      builder_, {.op = "Negate", .inputs = {x}, .control_inputs = {a}});
  const Tensor c = builder_.Add(builder_, {.op = "Negate", .inputs = {x}});
  builder_.AddControlEdge(b, c);
  const Graph& graph = builder_.graph();
  EXPECT_THAT(graph.producer(b.id()).control_inputs,
              ElementsAre(graph.producer(a.id()).id));
  EXPECT_THAT(graph.producer(c.id()).control_inputs,
              ElementsAre(graph.producer(b.id()).id));
}

TEST_F(BuilderTest, ErrorsNameTheNode) {
  const Tensor x = Feed("x", {2});
  const Tensor y = Feed("y", {3});
  builder_.Add(builder_.Scope("s"), {.op = "Mul", .inputs = {x, y}});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid,
                       "s/Mul: expected inputs of type float32[2], "
                       "not float32[3]"));
}

TEST_F(BuilderTest, TheFirstErrorStaysAndSilencesTheRest) {
  const Tensor x = Feed("x");
  const Tensor bad = builder_.Add(builder_, {.op = "Nonsense", .inputs = {x}});
  EXPECT_FALSE(bad.is_valid());
  EXPECT_EQ(bad.type(), TensorType());
  const Tensor next = builder_.Add(builder_, {.op = "Negate", .inputs = {bad}});
  EXPECT_FALSE(next.is_valid());
  EXPECT_THAT(builder_.AddAll(builder_, {.op = "SinCos", .inputs = {x}}),
              IsEmpty());
  builder_.AddControlEdge(bad, next);
  builder_.Fail(absl::InternalError("later"));
  EXPECT_EQ(builder_.graph().num_nodes(), 1);
  EXPECT_THAT(std::move(builder_).Build(),
              StatusIs(kInvalid, "Nonsense: there is no op named 'Nonsense'"));
}

TEST_F(BuilderTest, InvalidTensorsAreRefusedBySlot) {
  const Tensor x = Feed("x");
  builder_.Add(builder_.Scope("s"), {.op = "Mul", .inputs = {x, Tensor()}});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, StartsWith("s/Mul: input 1 (b) is an invalid "
                                            "tensor")));
}

TEST_F(BuilderTest, InvalidControlInputsAreRefused) {
  const Tensor x = Feed("x");
  builder_.Add(builder_,
               {.op = "Negate", .inputs = {x}, .control_inputs = {Tensor()}});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("a control input is an invalid")));
}

TEST_F(BuilderTest, TensorsOfAnotherBuilderAreRefused) {
  GraphBuilder other(registry_);
  const Tensor foreign = other.Placeholder("x", DType::kFloat32, {});
  builder_.Add(builder_, {.op = "Negate", .inputs = {foreign}});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, AllOf(HasSubstr("Negate: input 0 (x)"),
                                       HasSubstr("another GraphBuilder"))));
}

TEST_F(BuilderTest, ScopesOfAnotherBuilderAreRefused) {
  GraphBuilder other(registry_);
  const Tensor x = Feed("x");
  builder_.Add(other, {.op = "Negate", .inputs = {x}});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("another GraphBuilder")));
  EXPECT_THAT(other.status(), IsOk());
}

TEST_F(BuilderTest, BadNamesAreRefused) {
  for (const char* name : {"a:0", "a b", "\n"}) {
    GraphBuilder node_builder(registry_);
    node_builder.Placeholder(name, DType::kFloat32, {});
    EXPECT_THAT(node_builder.status(), StatusIs(kInvalid, HasSubstr("colon")));
    GraphBuilder scope_builder(registry_);
    scope_builder.Scope("good").Scope(name);
    EXPECT_THAT(scope_builder.status(),
                StatusIs(kInvalid, HasSubstr("name scope: ")));
  }
  builder_.Scope("");
  EXPECT_THAT(builder_.status(), StatusIs(kInvalid, HasSubstr("empty")));
}

TEST_F(BuilderTest, PlaceholderNamesAreExact) {
  Feed("x");
  Feed("x");
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("x: there is a node of this name")));
}

TEST_F(BuilderTest, BadShapesAreRefused) {
  Feed("x", {2, -1});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, AllOf(StartsWith("x: "), HasSubstr("> 0"))));
}

TEST_F(BuilderTest, SelfEdgesAreRefused) {
  const Tensor x = Feed("x");
  builder_.AddControlEdge(x, x);
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("x: a control edge from the node to "
                                           "itself")));
}

TEST_F(BuilderTest, BuildRefusesCycles) {
  const Tensor x = Feed("x");
  const Tensor y = builder_.Add(builder_, {.op = "Negate", .inputs = {x}});
  builder_.AddControlEdge(y, x);
  EXPECT_THAT(std::move(builder_).Build(),
              StatusIs(kInvalid, HasSubstr("x -> Negate -> x")));
}

}  // namespace
}  // namespace spillway
