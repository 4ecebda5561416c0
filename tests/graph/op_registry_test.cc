#include "graph/op_registry.h"

#include "base/status_macros.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
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
  registry.Add({.name = "Zeta", .infer = InferScalar});
  registry.Add({.name = "Alpha", .infer = InferScalar});
  EXPECT_EQ(registry.Find("Zeta")->name, "Zeta");
  EXPECT_EQ(registry.Find("zeta"), nullptr);
  EXPECT_EQ(registry.ops().begin()->first, "Alpha");
  EXPECT_EQ(registry.ops().size(), 2);
}

TEST(OpRegistryDeathTest, NamesAreUniqueAndInferIsRequired) {
  OpRegistry registry;
  registry.Add({.name = "A", .infer = InferScalar});
  EXPECT_DEATH(registry.Add({.name = "A", .infer = InferScalar}), "is_new");
  EXPECT_DEATH(registry.Add({.name = "B"}), "infer");
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

TEST(InferOutputsTest, InferredShapesAreChecked) {
  OpDef def = ThreeInputs();
  def.infer =
      [](const InferContext&) -> absl::StatusOr<std::vector<TensorType>> {
    return std::vector<TensorType>{kScalar, {DType::kInt32, {4, 0}}};
  };
  EXPECT_THAT(InferWith(def, 3), StatusIs(kInvalid, HasSubstr("output 1: ")));
}

}  // namespace
}  // namespace spillway
