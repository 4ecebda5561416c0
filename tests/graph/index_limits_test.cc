#include "graph/index_limits.h"

#include <functional>
#include <stdexcept>
#include <vector>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::StatusIs;

using testing::kInternal;
using testing::kInvalid;
const TensorType kTable = {.dtype = DType::kFloat32, .shape = {7, 3}};

int64_t NumRows(const InferContext& node) {
  return node.inputs[0].shape.dim(0);
}

using LimitFunction = std::function<int64_t(const InferContext&)>;

// Reads rows of a table, and of a second table with another number of rows.
OpDef Lookup(LimitFunction limit = NumRows) {
  OpDef def = {.name = "Lookup",
               .inputs = {"table", "rows", "more"},
               .outputs = {"y"},
               .optional_inputs = 1,
               .attributes = {"depth"}};
  def.index_inputs = {{.input = 1, .limit = std::move(limit)},
                      {.input = 2, .limit = [](const InferContext& node) {
                         return node.attributes.GetInt("depth").value_or(0);
                       }}};
  return def;
}

absl::StatusOr<std::vector<IndexLimit>> LimitsWith(
    const OpDef& def, const std::vector<DType>& indices) {
  std::vector<TensorType> types = {kTable};
  for (const DType dtype : indices) types.push_back({dtype, {4}});
  const Attributes attributes = {{"depth", int64_t{12}}};
  return IndexLimits(def, {attributes, types});
}

TEST(IndexLimitsTest, AreOfTheNodesTypesAndAttributes) {
  ASSERT_OK_AND_ASSIGN(const std::vector<IndexLimit> limits,
                       LimitsWith(Lookup(), {DType::kInt32, DType::kInt64}));
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].input, 1u);
  EXPECT_EQ(limits[0].limit, 7);
  EXPECT_EQ(limits[1].input, 2u);
  EXPECT_EQ(limits[1].limit, 12);
}

TEST(IndexLimitsTest, InputsThatAreLeftOutHaveNone) {
  ASSERT_OK_AND_ASSIGN(const std::vector<IndexLimit> limits,
                       LimitsWith(Lookup(), {DType::kUInt8}));
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].input, 1u);
}

TEST(IndexLimitsTest, OnlyIntegersIndex) {
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kBool}) {
    EXPECT_THAT(LimitsWith(Lookup(), {dtype}).status(),
                StatusIs(kInvalid,
                         "Lookup's rows: indices must be int32, int64 or "
                         "uint8, not " +
                             std::string(DTypeName(dtype))));
  }
}

TEST(IndexLimitsTest, LimitsThatCannotBeAreRefused) {
  const auto with = [](LimitFunction limit) {
    return LimitsWith(Lookup(std::move(limit)), {DType::kInt32}).status();
  };
  EXPECT_THAT(with([](const InferContext&) { return 0; }),
              StatusIs(kInvalid,
                       "Lookup's rows: the limit of an index must be positive; "
                       "the op says 0"));
  EXPECT_THAT(
      with([](const InferContext&) -> int64_t {
        throw std::runtime_error("planted");
      }),
      StatusIs(kInternal, "Lookup's rows: the limit function threw: planted"));
  EXPECT_THAT(with([](const InferContext&) -> int64_t { throw 5; }),
              StatusIs(kInternal, "Lookup's rows: the limit function threw"));
}

}  // namespace
}  // namespace spillway
