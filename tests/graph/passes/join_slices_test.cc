#include "graph/passes/join_slices.h"

#include <set>
#include <string>
#include <vector>

#include "graph/builder/builder.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/graph_text.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::GraphText;

constexpr Pass kJoinPass = {"join", "", JoinSlices};

class JoinSlicesTest : public ::testing::Test {
 protected:
  // dy [2, columns] at `begin` within [2, 6].
  Tensor Part(const std::string& name, int64_t columns, int64_t begin,
              double value = 0) {
    const Tensor dy = g_.Placeholder(name, DType::kFloat32, {2, columns});
    const AttributeValue::List paddings = {
        std::vector<int64_t>{0, 0},
        std::vector<int64_t>{begin, 6 - columns - begin}};
    return g_.Add(g_, {.op = "Pad",
                       .inputs = {dy},
                       .attributes = {{"paddings", paddings}, {"value", value}},
                       .name = "pad_" + name});
  }
  Tensor Sum(const std::vector<Tensor>& parts) {
    return g_.Add(g_, {.op = "AddN", .inputs = parts, .name = "sum"});
  }
  std::string Optimize(const std::vector<ValueId>& keep) {
    const auto result =
        RunPasses(g_.graph(), g_.registry(), std::vector{kJoinPass}, keep);
    EXPECT_THAT(result, testing::IsOk());
    return result.ok() ? GraphText(result->graph, kOps) : "";
  }
  void ExpectNothing(const std::vector<ValueId>& keep) {
    ASSERT_THAT(g_.status(), testing::IsOk());
    EXPECT_EQ(Optimize(keep), GraphText(g_.graph(), kOps));
  }

  const std::set<std::string> kOps = {"AddN", "Concat", "Pad"};
  GraphBuilder g_{StandardOps()};
};

TEST_F(JoinSlicesTest, PartsThatCoverAValueAreConcatenatedInTheirOrder) {
  const Tensor sum = Sum({Part("b", 1, 2), Part("c", 3, 3), Part("a", 2, 0)});
  EXPECT_EQ(Optimize({sum.id()}), "sum = Concat(a, b, c)\n");
}

TEST_F(JoinSlicesTest, AGapIsLeft) {
  ExpectNothing({Sum({Part("a", 2, 0), Part("b", 3, 3)}).id()});
}

TEST_F(JoinSlicesTest, AnEndThatIsMissingIsLeft) {
  ExpectNothing({Sum({Part("a", 2, 0), Part("b", 3, 2)}).id()});
}

TEST_F(JoinSlicesTest, AnOverlapIsLeft) {
  ExpectNothing({Sum({Part("a", 3, 0), Part("b", 4, 2)}).id()});
}

TEST_F(JoinSlicesTest, OtherNumbersThanZeroAreLeft) {
  ExpectNothing({Sum({Part("a", 2, 0, 1), Part("b", 4, 2)}).id()});
}

TEST_F(JoinSlicesTest, APartThatSomeoneElseReadsIsLeft) {
  const Tensor a = Part("a", 2, 0);
  const Tensor sum = Sum({a, Part("b", 4, 2)});
  ExpectNothing({sum.id(), a.id()});
}

TEST_F(JoinSlicesTest, ASumOfOtherThingsIsLeft) {
  const Tensor x = g_.Placeholder("x", DType::kFloat32, {2, 6});
  ExpectNothing({Sum({Part("a", 2, 0), Part("b", 4, 2), x}).id()});
}

TEST_F(JoinSlicesTest, TheSamePartTwiceIsLeft) {
  const Tensor a = Part("a", 3, 0);
  ExpectNothing({Sum({a, a}).id()});
}

}  // namespace
}  // namespace spillway
