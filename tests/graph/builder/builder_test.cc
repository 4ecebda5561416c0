#include "graph/builder/builder.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

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

using testing::kInvalid;

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

TEST_F(BuilderTest, APlanOnlyNodeStatesItsOutputs) {
  const Tensor x = Feed("x");
  const TensorType type = {.dtype = DType::kInt32, .shape = Shape({2, 3})};
  const std::vector<Tensor> y = builder_.AddAll(
      builder_,
      {.op = "Later", .inputs = {x}, .outputs = std::vector{type, x.type()}});
  ASSERT_EQ(y.size(), 2);
  EXPECT_EQ(y[0].type(), type);
  EXPECT_THAT(std::move(builder_).Build(), IsOk());
}

TEST_F(BuilderTest, OutputsAreStatedForPlanOnlyNodesAlone) {
  const Tensor x = Feed("x");
  builder_.Add(
      builder_,
      {.op = "Negate", .inputs = {x}, .outputs = std::vector{x.type()}});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("'Negate' is an op of the engine")));
}

TEST_F(BuilderTest, StatedOutputsAreChecked) {
  const TensorType bad = {.dtype = DType::kInt32, .shape = Shape({2, 0})};
  builder_.AddAll(builder_, {.op = "Later", .outputs = std::vector{bad}});
  EXPECT_THAT(builder_.status(), StatusIs(kInvalid, StartsWith("Later: ")));
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

TEST_F(BuilderTest, ABatchOfNothingIsRefused) {
  Feed("x", {0, 28, 28, 1});
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, AllOf(StartsWith("x: "), HasSubstr("> 0"))));
}

TEST_F(BuilderTest, EmptyAndNullNamesAreRefused) {
  const char* null = nullptr;
  for (const auto& add_badly : std::vector<std::function<void(GraphBuilder&)>>{
           [&](GraphBuilder& g) { g.Scope(null); },
           [&](GraphBuilder& g) { g.Scope("good").Scope(null); },
           [&](GraphBuilder& g) { g.Scope("good").Scope(std::string()); },
           [&](GraphBuilder& g) { g.Placeholder(null, DType::kFloat32, {}); },
           [&](GraphBuilder& g) { g.Placeholder("", DType::kFloat32, {}); },
           [&](GraphBuilder& g) {
             g.Placeholder(std::string_view(), DType::kFloat32, {});
           },
           [&](GraphBuilder& g) { g.Add(g, {}); }}) {
    GraphBuilder g(registry_);
    add_badly(g);
    EXPECT_THAT(std::move(g).Build(), StatusIs(kInvalid, HasSubstr("empty")));
  }
}

TEST_F(BuilderTest, TensorsTellTheirTypeWithoutTheBuilder) {
  Tensor small;
  Tensor large;
  const Shape large_shape = {(int64_t{1} << 45) + 3, 1, 1, 1, 1, 1, 1, 1};
  {
    GraphBuilder builder(registry_);
    small = builder.Placeholder("x", DType::kInt32, {64, 28, 1});
    large = builder.Placeholder("y", DType::kFloat32, large_shape);
    ASSERT_THAT(std::move(builder).Build(), IsOk());
    EXPECT_EQ(small.shape(), Shape({64, 28, 1}));
  }
  EXPECT_EQ(small.dtype(), DType::kInt32);
  EXPECT_EQ(small.type(),
            (TensorType{.dtype = DType::kInt32, .shape = {64, 28, 1}}));
  EXPECT_EQ(large.shape(), large_shape);
  int64_t product = 1;
  for (const int64_t dim : small.shape().dims()) product *= dim;
  EXPECT_EQ(product, 64 * 28);
}

TEST_F(BuilderTest, TensorsStandWhereIdsStand) {
  const Tensor x = Feed("x");
  const Tensor y = builder_.Add(builder_, {.op = "Negate", .inputs = {x}});
  const std::vector<ValueId> fetches = {x, y};
  EXPECT_THAT(fetches, ElementsAre(x.id(), y.id()));
  std::map<ValueId, int> feeds = {{x, 1}, {y, 2}};
  feeds[y] = 3;
  EXPECT_EQ(feeds.at(x), 1);
  EXPECT_EQ(feeds.at(y), 3);
  EXPECT_EQ(builder_.graph().ValueName(y), "Negate:0");
}

TEST_F(BuilderTest, ATensorOfNoValueIsInvalid) {
  EXPECT_FALSE(Tensor(&builder_, ValueId(size_t{3})).is_valid());
  EXPECT_FALSE(Tensor(&builder_, ValueId()).is_valid());
  EXPECT_FALSE(Tensor(nullptr, ValueId(size_t{0})).is_valid());
}

// The second builder has the address of the first, and its first value has the
// same id.
TEST_F(BuilderTest, TensorsOfABuilderThatIsGoneAreRefused) {
  std::optional<GraphBuilder> builder;
  builder.emplace(registry_);
  const Tensor old = builder->Placeholder("x", DType::kFloat32, {2});
  builder.emplace(registry_);
  builder->Placeholder("x", DType::kFloat32, {3});
  builder->Add(*builder, {.op = "Negate", .inputs = {old}});
  EXPECT_THAT(builder->status(),
              StatusIs(kInvalid, HasSubstr("another GraphBuilder")));
}

// Serials repeat after 65536 builders.
TEST_F(BuilderTest, TensorsOfABuilderWithTheSameSerialAreRefused) {
  const Tensor x = Feed("x");
  std::optional<GraphBuilder> other(std::in_place, registry_);
  while (other->serial() != builder_.serial()) other.emplace(registry_);
  EXPECT_TRUE(x.is_of(builder_));
  EXPECT_FALSE(x.is_of(*other));
}

TEST_F(BuilderTest, BuildsOnce) {
  const Tensor x = Feed("x");
  ASSERT_THAT(std::move(builder_).Build(), IsOk());
  const auto kBuilt = StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("the graph 'graph' has been built"));
  EXPECT_THAT(std::move(builder_).Build(), kBuilt);
  // All later calls do nothing.
  EXPECT_FALSE(Feed("y").is_valid());
  EXPECT_FALSE((x + x).is_valid());
  EXPECT_FALSE((2 * x).is_valid());
  const OpSpec negate = {.op = "Negate", .inputs = {x}, .control_inputs = {x}};
  EXPECT_THAT(builder_.AddAll(builder_.Scope("s"), negate), IsEmpty());
  builder_.AddControlEdge(x, x);
  EXPECT_EQ(builder_.graph().num_nodes(), 0);
  EXPECT_THAT(std::move(builder_).Build(), kBuilt);
}

TEST_F(BuilderTest, AGraphThatIsRefusedStaysRefused) {
  const Tensor x = Feed("x");
  const Tensor y = builder_.Add(builder_, {.op = "Negate", .inputs = {x}});
  builder_.AddControlEdge(y, x);
  const absl::Status first = std::move(builder_).Build().status();
  EXPECT_EQ(std::move(builder_).Build().status(), first);
}

TEST_F(BuilderTest, VariablesAreNotRenamed) {
  const OpSpec variable = {
      .op = "Variable",
      .attributes = {{"dtype", DType::kFloat32}, {"shape", Shape()}},
      .name = "weights"};
  builder_.Add(builder_.Scope("fc"), variable);
  EXPECT_EQ(NameOf(builder_.Add(builder_.Scope("fc2"), variable)),
            "fc2/weights");
  OpSpec unnamed = variable;
  unnamed.name.clear();
  builder_.Add(builder_, unnamed);
  EXPECT_EQ(NameOf(builder_.Add(builder_, unnamed)), "Variable_1");
  EXPECT_FALSE(builder_.Add(builder_.Scope("fc"), variable).is_valid());
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("fc/weights: the scope 'fc' has a "
                                           "node of this name already")));
}

TEST_F(BuilderTest, ScopeOfATensorIsThatOfItsNode) {
  const Tensor x = Feed("x");
  const Tensor y =
      builder_.Add(builder_.Scope("a/b"), {.op = "Negate", .inputs = {x}});
  EXPECT_EQ(builder_.ScopeOf(x).prefix(), "");
  EXPECT_EQ(builder_.ScopeOf(y).prefix(), "a/b/");
  GraphBuilder other(registry_);
  EXPECT_EQ(other.ScopeOf(y).prefix(), "");
  EXPECT_EQ(builder_.ScopeOf(Tensor()).prefix(), "");
}

TEST_F(BuilderTest, OperatorsAreNamedInTheScopeOfTheLeft) {
  const Tensor x = Feed("x", {2, 3});
  const Tensor y =
      builder_.Add(builder_.Scope("s"), {.op = "Negate", .inputs = {x}});
  EXPECT_EQ(NameOf(x + y), "Add");
  EXPECT_EQ(NameOf(x + y), "Add_1");
  EXPECT_EQ(NameOf(y * x), "s/Mul");
  EXPECT_EQ(NameOf(y + y * x), "s/Add");
}

TEST_F(BuilderTest, OperatorsTellOfInvalidTensors) {
  EXPECT_FALSE((Tensor() + Tensor()).is_valid());
  EXPECT_FALSE((Tensor() * 2).is_valid());
  EXPECT_FALSE((2 - Tensor()).is_valid());
  EXPECT_THAT(builder_.status(), IsOk());
  const Tensor x = Feed("x");
  EXPECT_FALSE((Tensor() + x).is_valid());
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("Add: input 0 (a) is an invalid")));
}

TEST_F(BuilderTest, OperatorsTellOfForeignTensors) {
  GraphBuilder other(registry_);
  const Tensor x = Feed("x");
  const Tensor foreign = other.Placeholder("x", DType::kFloat32, {});
  EXPECT_FALSE((x * foreign).is_valid());
  EXPECT_THAT(builder_.status(),
              StatusIs(kInvalid, HasSubstr("another GraphBuilder")));
  EXPECT_THAT(other.status(), IsOk());
}

TEST_F(BuilderTest, OperatorsOnFinishedGraphsAloneAreInvalid) {
  const Tensor x = Feed("x");
  const Tensor y = Feed("y", {2, 3});
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(builder_).Build());
  const Tensor scalar(graph, x.id());
  const Tensor matrix(graph, y.id());
  EXPECT_FALSE((matrix * 2).is_valid());
  EXPECT_FALSE((1 - matrix).is_valid());
  EXPECT_FALSE((scalar - matrix).is_valid());
  EXPECT_FALSE((scalar + matrix).is_valid());
}

TEST_F(BuilderTest, OperatorsTellTheLiveBuilderOfTensorsOfFinishedGraphs) {
  const ValueId x = Feed("x");
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(builder_).Build());
  const Tensor finished(graph, x);
  for (const bool is_left : {true, false}) {
    GraphBuilder live(registry_);
    const NameScope scope = live.Scope("s");
    const Tensor y = live.Add(
        scope, {.op = "Negate",
                .inputs = {live.Placeholder("y", DType::kFloat32, {})}});
    EXPECT_FALSE((is_left ? finished + y : y + finished).is_valid());
    EXPECT_THAT(
        live.status(),
        StatusIs(kInvalid, fmt::format("s/Add: input {} belongs to another "
                                       "GraphBuilder, or to a finished graph",
                                       is_left ? "0 (a)" : "1 (b)")));
  }
}

TEST(BuilderInferTest, AnOpThatThrowsIsAnError) {
  OpRegistry registry = ScalarOps();
  registry.Add({.name = "Throwing",
                .outputs = {"y"},
                .infer = [](const InferContext&)
                    -> absl::StatusOr<std::vector<TensorType>> {
                  throw std::runtime_error("no idea");
                }});
  GraphBuilder g(registry);
  g.Add(g.Scope("s"), {.op = "Throwing"});
  EXPECT_THAT(
      std::move(g).Build(),
      StatusIs(absl::StatusCode::kInternal,
               "s/Throwing: the shape inference of Throwing threw: no idea"));
}

TEST(BuilderInferTest, AnOpWithoutShapeInferenceIsAnError) {
  const OpDef def = {.name = "Shapeless", .outputs = {"y"}};
  EXPECT_THAT(
      InferOutputs(def, {.attributes = Attributes()}),
      StatusIs(kInvalid, HasSubstr("Shapeless has no shape inference")));
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
