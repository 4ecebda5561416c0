#include "graph/op_registry.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using testing::kInvalid;
const TensorType kScalar;

absl::StatusOr<std::vector<TensorType>> InferScalar(const InferContext&) {
  return std::vector<TensorType>{kScalar};
}

OpDef ThreeInputs() {
  return {.name = "Fma",
          .inputs = {"a", "b", "c"},
          .outputs = {"y"},
          .attributes = {"scale"},
          .infer = InferScalar};
}

absl::Status InferWith(const OpDef& def, size_t num_inputs,
                       const Attributes& attributes = {}) {
  const std::vector<TensorType> inputs(num_inputs, kScalar);
  return InferOutputs(def, {attributes, inputs}).status();
}

TEST(OpRegistryTest, FindsByNameAndListsInNameOrder) {
  OpRegistry registry;
  registry.Add({.name = "Zeta", .outputs = {"y"}, .infer = InferScalar});
  registry.Add({.name = "Alpha", .outputs = {"y"}, .infer = InferScalar});
  EXPECT_EQ(registry.Find("Zeta")->name, "Zeta");
  EXPECT_EQ(registry.Find("zeta"), nullptr);
  EXPECT_EQ(registry.ops().begin()->first, "Alpha");
  EXPECT_EQ(registry.ops().size(), 2);
}

// Find must not return schemas of the registry that was copied.
TEST(OpRegistryTest, CopiesAndMovesFindTheirOwnSchemas) {
  auto original = std::make_unique<OpRegistry>();
  original->Add({.name = "Relu", .outputs = {"y"}, .infer = InferScalar});
  const OpRegistry copy = *original;
  OpRegistry assigned;
  assigned.Add({.name = "Other", .outputs = {"y"}, .infer = InferScalar});
  assigned = copy;
  const OpDef* const before = original->Find("Relu");
  const OpRegistry moved = std::move(*original);
  original.reset();
  EXPECT_EQ(moved.Find("Relu"), before);
  for (const OpRegistry* registry : {&copy, &std::as_const(assigned), &moved}) {
    EXPECT_EQ(registry->Find("Relu"), &registry->ops().at("Relu"));
    EXPECT_EQ(registry->Find("Other"), nullptr);
  }
}

TEST(OpRegistryTest, RemembersTheFirstSchemaThatItRefused) {
  OpRegistry registry;
  registry.Add({.name = "A", .outputs = {"y"}, .infer = InferScalar});
  EXPECT_TRUE(registry.status().ok());
  registry.Add(
      {.name = "A", .inputs = {"x"}, .outputs = {"y"}, .infer = InferScalar});
  registry.Add({.name = "B"});
  EXPECT_THAT(registry.status(),
              StatusIs(kInvalid, "op 'A': is registered twice"));
  EXPECT_TRUE(registry.Find("A")->inputs.empty());  // the first one is kept
  EXPECT_EQ(registry.Find("B"), nullptr);
}

TEST(OpRegistryTest, SchemasWhosePartsDoNotFitAreRefused) {
  const auto refusal = [](OpDef def) {
    OpRegistry registry;
    registry.Add(std::move(def));
    return registry.status();
  };
  const auto fma = [](auto&& change) {
    OpDef def = ThreeInputs();
    change(def);
    return def;
  };
  EXPECT_TRUE(refusal(ThreeInputs()).ok());
  // The last input of a variadic op is repeated, so it cannot be overwritten.
  EXPECT_TRUE(refusal(fma([](OpDef& def) {
                def.variadic = true;
                def.in_place = {{7, 0}};
              })).ok());
  EXPECT_THAT(refusal({.name = "B"}),
              StatusIs(kInvalid, "op 'B': has no infer function"));
  EXPECT_THAT(refusal({.infer = InferScalar}),
              StatusIs(kInvalid, "op '': has no name"));
  EXPECT_THAT(
      refusal(fma([](OpDef& def) { def.optional_inputs = 4; })),
      StatusIs(kInvalid, HasSubstr("4 optional inputs, but only 3 inputs")));
  EXPECT_THAT(refusal(fma([](OpDef& def) {
                def.alias = {{3, 0}};
              })),
              StatusIs(kInvalid, HasSubstr("alias pairs input 3")));
  EXPECT_THAT(refusal(fma([](OpDef& def) {
                def.in_place = {{0, -1}};
              })),
              StatusIs(kInvalid, HasSubstr("in_place pairs input 0 with")));
  EXPECT_THAT(refusal(fma([](OpDef& def) {
                def.in_place = {{0, 0}, {1, 0}};
                def.in_place_together = true;
              })),
              StatusIs(kInvalid, HasSubstr("in_place_together, but no two")));
  EXPECT_THAT(
      refusal(fma([](OpDef& def) { def.recompute = RecomputeRule::kDerive; })),
      StatusIs(kInvalid, HasSubstr("derive function without")));
  EXPECT_THAT(refusal(fma([](OpDef& def) {
                def.derive = [](const OpContext&, int) {
                  return std::optional<DerivedNode>();
                };
              })),
              StatusIs(kInvalid, HasSubstr("or the reverse")));
  EXPECT_THAT(refusal(fma([](OpDef& def) { def.mutates = {-1}; })),
              StatusIs(kInvalid, HasSubstr("mutates input -1")));
  EXPECT_THAT(refusal(fma([](OpDef& def) { def.group_inputs = 4; })),
              StatusIs(kInvalid, HasSubstr("groups of 4 inputs")));
}

// Passes, orders and updates identify a node by its first output.
TEST(OpRegistryTest, OpsWithoutOutputsAreRefused) {
  OpRegistry registry;
  registry.Add({.name = "Print", .inputs = {"x"}, .infer = InferScalar});
  EXPECT_THAT(registry.status(),
              StatusIs(kInvalid, "op 'Print': has no outputs"));
  EXPECT_EQ(registry.Find("Print"), nullptr);
}

TEST(OpRegistryTest, IndicesThatNameNoSingleInputAreRefused) {
  const auto refusal = [](int input, bool is_variadic, int group_inputs) {
    OpDef def = ThreeInputs();
    def.variadic = is_variadic;
    def.group_inputs = group_inputs;
    def.index_inputs = {
        {.input = input, .limit = [](const InferContext&) { return 5; }}};
    OpRegistry registry;
    registry.Add(std::move(def));
    return registry.status();
  };
  EXPECT_TRUE(refusal(2, false, 0).ok());
  EXPECT_TRUE(refusal(1, true, 0).ok());
  EXPECT_THAT(
      refusal(3, false, 0),
      StatusIs(kInvalid,
               "op 'Fma': index_inputs names input 3, but only 3 inputs "
               "are not repeated"));
  EXPECT_THAT(refusal(-1, false, 0),
              StatusIs(kInvalid, HasSubstr("names input -1, but only 3")));
  EXPECT_THAT(refusal(2, true, 0),
              StatusIs(kInvalid, HasSubstr("names input 2, but only 2")));
  EXPECT_THAT(refusal(2, false, 1),
              StatusIs(kInvalid, HasSubstr("no index_inputs")));
}

TEST(OpRegistryTest, IndicesWithoutALimitAreRefused) {
  OpDef def = ThreeInputs();
  def.index_inputs = {{.input = 1}};
  OpRegistry registry;
  registry.Add(std::move(def));
  EXPECT_THAT(
      registry.status(),
      StatusIs(kInvalid, "op 'Fma': index_inputs has no limit for input 1"));
}

TEST(InferOutputsTest, ReturnsWhatTheOpInfers) {
  const std::vector<TensorType> inputs(3, kScalar);
  const Attributes attributes = {{"scale", 2}};
  const auto types = InferOutputs(ThreeInputs(), {attributes, inputs});
  EXPECT_THAT(types.value(), ElementsAre(kScalar));
}

TEST(InferOutputsTest, CountsInputs) {
  OpDef def = ThreeInputs();
  EXPECT_TRUE(InferWith(def, 3).ok());
  for (const size_t wrong : {0, 2, 4}) {
    EXPECT_THAT(InferWith(def, wrong),
                StatusIs(kInvalid, HasSubstr("Fma takes 3 inputs (a, b, c); " +
                                             std::to_string(wrong))));
  }
}

TEST(InferOutputsTest, CountsOptionalInputs) {
  OpDef def = ThreeInputs();
  def.optional_inputs = 2;
  for (const size_t right : {1, 2, 3}) {
    EXPECT_TRUE(InferWith(def, right).ok()) << right;
  }
  for (const size_t wrong : {0, 4}) {
    EXPECT_THAT(InferWith(def, wrong),
                StatusIs(kInvalid, HasSubstr("1 to 3 inputs")));
  }
}

TEST(InferOutputsTest, CountsVariadicInputs) {
  OpDef def = ThreeInputs();
  def.variadic = true;
  EXPECT_TRUE(InferWith(def, 3).ok());
  EXPECT_TRUE(InferWith(def, 300).ok());
  EXPECT_THAT(InferWith(def, 2),
              StatusIs(kInvalid, HasSubstr("3 inputs or more")));
}

TEST(InferOutputsTest, UnknownAttributesAreRefusedByName) {
  EXPECT_THAT(InferWith(ThreeInputs(), 3, {{"scales", 1}}),
              StatusIs(kInvalid, HasSubstr("no attribute 'scales'; it has: "
                                           "scale")));
  OpDef plain = ThreeInputs();
  plain.attributes.clear();
  EXPECT_THAT(InferWith(plain, 3, {{"x", 1}}),
              StatusIs(kInvalid, HasSubstr("it has: none")));
}

TEST(InferOutputsTest, ErrorsOfTheOpArePassedOn) {
  OpDef def = ThreeInputs();
  def.infer =
      [](const InferContext&) -> absl::StatusOr<std::vector<TensorType>> {
    return InvalidArgument("expected rank 4");
  };
  EXPECT_THAT(InferWith(def, 3), StatusIs(kInvalid, "expected rank 4"));
}

// An op whose inference returns `num_types` types.
OpDef Infers(size_t num_types) {
  OpDef def = ThreeInputs();
  def.infer =
      [num_types](
          const InferContext&) -> absl::StatusOr<std::vector<TensorType>> {
    return std::vector<TensorType>(num_types, kScalar);
  };
  return def;
}

TEST(InferOutputsTest, TheLastOutputsMayBeLeftOut) {
  OpDef def = Infers(1);
  def.outputs = {"y", "rest"};
  EXPECT_TRUE(InferWith(def, 3).ok());
}

TEST(InferOutputsTest, CountsOutputs) {
  EXPECT_TRUE(InferWith(Infers(1), 3).ok());
  for (const size_t wrong : {0, 2}) {
    EXPECT_THAT(InferWith(Infers(wrong), 3),
                StatusIs(absl::StatusCode::kInternal,
                         fmt::format("the shape inference of Fma returns {}; "
                                     "it has 1 output here",
                                     Counted(wrong, "type"))));
  }
}

TEST(InferOutputsTest, CountsTheOutputsOfEveryGroup) {
  OpDef def = Infers(3);
  def.group_inputs = 2;
  EXPECT_TRUE(InferWith(def, 7).ok());  // three groups and the shared input
  EXPECT_THAT(InferWith(def, 5), StatusIs(absl::StatusCode::kInternal,
                                          HasSubstr("it has 2 outputs here")));
}

TEST(InferOutputsTest, InferredShapesAreChecked) {
  OpDef def = ThreeInputs();
  def.outputs = {"y", "z"};
  def.infer =
      [](const InferContext&) -> absl::StatusOr<std::vector<TensorType>> {
    return std::vector<TensorType>{kScalar, {DType::kInt32, {4, 0}}};
  };
  EXPECT_THAT(InferWith(def, 3), StatusIs(kInvalid, HasSubstr("output 1: ")));
}

TEST(InferOutputsTest, IndicesAreChecked) {
  OpDef def = ThreeInputs();
  def.index_inputs = {
      {.input = 1, .limit = [](const InferContext&) { return 5; }}};
  EXPECT_THAT(InferWith(def, 3),
              StatusIs(kInvalid, HasSubstr("Fma's b: indices must be int32")));
}

}  // namespace
}  // namespace spillway
