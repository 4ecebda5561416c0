#include "graph/passes/grow_concats.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/graph/passes/parts_pass_test.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Pass kGrow = {"grow_concats", "", GrowConcats};

class GrowConcatsTest : public testing::PartsPassTest {
 protected:
  GrowConcatsTest() : PartsPassTest(kGrow) {}

  // Adds x, which can be a part, to a number of its own.
  Tensor Layer(const std::string& name, Tensor x) {
    const Tensor own = g_.Placeholder(name + "/own", x.type().dtype, x.shape());
    return Add("AddN", name, {x, own});
  }

  int64_t Attribute(const std::string& node, const std::string& name) const {
    return Result(node).attributes.GetInt(name, -1).value();
  }
  Shape ShapeOf(const std::string& name) const {
    return result_.type(Result(name).outputs[0]).shape;
  }
  void ExpectNothingGrows() const {
    for (const Node& node : result_.nodes()) {
      EXPECT_NE(node.op, "ConcatInto") << node.name;
    }
  }
};

TEST_F(GrowConcatsTest, AChainIsOneTensorThatGrows) {
  const Tensor a = Concat("a", {Input("x", 2), Input("y", 3)});
  const Tensor b = Concat("b", {a, Layer("layer_a", a)});
  const Tensor c = Concat("c", {b, Input("z", 4), Layer("layer_b", b)});
  Add("Tanh", "last", {c});
  Run();
  EXPECT_EQ(Result("a").op, "Concat");
  EXPECT_EQ(Attribute("a", "room"), 19);
  EXPECT_EQ(Result("b").op, "ConcatInto");
  EXPECT_EQ(Attribute("b", "begin"), 5);
  EXPECT_EQ(Result("c").op, "ConcatInto");
  EXPECT_EQ(Attribute("c", "begin"), 10);
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(ShapeOf(name), Shape({2, 3, 24})) << name;
  }
  EXPECT_THAT(Parts("layer_a"), ElementsAre(InputPart{0, 0, 5}));
  EXPECT_THAT(Parts("layer_b"), ElementsAre(InputPart{0, 0, 10}));
  EXPECT_THAT(Result("last").inputs, ElementsAre(Result("c").outputs[0]));
}

TEST_F(GrowConcatsTest, RoomThatIsThereStays) {
  const Tensor a = Concat("a", {Input("x", 2), Input("y", 3)}, 1);
  Concat("b", {a, Layer("layer", a)}, 4);
  Run();
  EXPECT_EQ(Attribute("a", "room"), 11);
  EXPECT_EQ(Result("b").op, "ConcatInto");
  EXPECT_EQ(Attribute("b", "begin"), 6);
  EXPECT_EQ(ShapeOf("b"), Shape({2, 3, 16}));
}

TEST_F(GrowConcatsTest, APartOfAGrownTensorStaysWhereItIs) {
  const Tensor a = Concat("a", {Input("x", 2), Input("y", 3)});
  const Tensor part = g_.Add(g_, {.op = "AddN",
                                  .inputs = {a, Input("own", 2)},
                                  .attributes = {{"parts", {{0, 1, 2}}}},
                                  .name = "part"});
  Concat("b", {a, part});
  Run();
  EXPECT_EQ(Result("b").op, "ConcatInto");
  EXPECT_THAT(Parts("part"), ElementsAre(InputPart{0, 1, 2}));
}

TEST_F(GrowConcatsTest, AConcatenationThatIsNotTheFirstPartStays) {
  const Tensor a = Concat("a", {Input("x", 2), Input("y", 3)});
  Concat("b", {Layer("layer", a), a});
  Run();
  ExpectNothingGrows();
}

TEST_F(GrowConcatsTest, AReaderThatNeedsTheWholeKeepsIt) {
  const Tensor a = Concat("a", {Input("x", 2), Input("y", 3)});
  Concat("b", {a, Add("Tanh", "tanh", {a})});
  Run();
  ExpectNothingGrows();
}

// It would still need the bytes that the next concatenation takes.
TEST_F(GrowConcatsTest, ALaterReaderKeepsIt) {
  const Tensor a = Concat("a", {Input("x", 2), Input("y", 3)});
  const Tensor b = Concat("b", {a, Layer("layer", a)});
  const Tensor later =
      g_.Add(g_, {.op = "Slice",
                  .inputs = {Add("Tanh", "tanh", {b})},
                  .attributes = {{"begin", {0, 0, 0}}, {"size", {2, 3, 5}}},
                  .name = "slice"});
  Add("AddN", "last", {later, a});
  Run();
  ExpectNothingGrows();
}

TEST_F(GrowConcatsTest, AKeptConcatenationStays) {
  const Tensor a = Concat("a", {Input("x", 2), Input("y", 3)});
  Concat("b", {a, Layer("layer", a)});
  Run({a.id()});
  ExpectNothingGrows();
  EXPECT_THAT(Parts("layer"), IsEmpty());
}

TEST_F(GrowConcatsTest, ATensorGrowsIntoOneOther) {
  const Tensor a = Concat("a", {Input("x", 2), Input("y", 3)});
  const Tensor b = Concat("b", {a, Layer("layer", a)});
  const Tensor c = Concat("c", {a, Layer("other", a)});
  Add("AddN", "last", {b, c});
  Run();
  ExpectNothingGrows();
}

}  // namespace
}  // namespace spillway
