#include "graph/passes/read_parts.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "models/layers/initializer.h"
#include "tests/graph/passes/parts_pass_test.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Pass kReadParts = {"read_parts", "", ReadParts};

class ReadPartsTest : public testing::PartsPassTest {
 protected:
  ReadPartsTest() : PartsPassTest(kReadParts) {}

  bool Has(const std::string& name) const {
    return result_.FindNode(name).has_value();
  }
  // The names of what a node of the result reads.
  std::vector<std::string> InputsOf(const std::string& name) const {
    std::vector<std::string> names;
    for (const ValueId input : Result(name).inputs) {
      names.push_back(result_.producer(input).name);
    }
    return names;
  }
};

using List = InputPart;

TEST_F(ReadPartsTest, ReadersOfASliceReadWhatItCuts) {
  const Tensor dy = Input("dy", 7);
  const Tensor cut = Slice("cut", dy, 2, 4);
  Add("AddN", "sum", {Add("ReluGrad", "dx", {cut, Input("y", 4)}), cut});
  Run();
  EXPECT_FALSE(Has("cut"));
  EXPECT_THAT(InputsOf("dx"), ElementsAre("dy", "y"));
  EXPECT_THAT(Parts("dx"), ElementsAre(List{0, 2, 4}));
  EXPECT_THAT(InputsOf("sum"), ElementsAre("dx", "dy"));
  EXPECT_THAT(Parts("sum"), ElementsAre(List{1, 2, 4}));
}

TEST_F(ReadPartsTest, ASliceOfASliceIsAPartOfTheWidest) {
  const Tensor cut = Slice("cut", Input("dy", 9), 2, 6);
  Add("AddN", "sum", {Slice("again", cut, 1, 4), Input("x", 4)});
  Run();
  // `again` reads `cut`, and a Slice reads no parts.
  EXPECT_TRUE(Has("cut"));
  EXPECT_FALSE(Has("again"));
  EXPECT_THAT(InputsOf("sum"), ElementsAre("cut", "x"));
  Graph once = result_;
  const auto twice = RunPasses(once, g_.registry(), std::vector{kReadParts},
                               std::vector{once.output(*once.FindNode("sum"))});
  ASSERT_THAT(twice, testing::IsOk());
  result_ = twice->graph;
  EXPECT_FALSE(Has("cut"));
  EXPECT_THAT(Parts("sum"), ElementsAre(List{0, 3, 4}));
}

TEST_F(ReadPartsTest, ASliceStaysWhereAReaderNeedsItsBytes) {
  const Tensor cut = Slice("cut", Input("dy", 7), 2, 4);
  Add("AddN", "sum", {Add("Tanh", "other", {cut}), cut});
  Run();
  EXPECT_TRUE(Has("cut"));
  EXPECT_THAT(Parts("sum"), IsEmpty());
}

TEST_F(ReadPartsTest, OnlySlicesOfChannelsGo) {
  const Tensor rows =
      g_.Add(g_, {.op = "Slice",
                  .inputs = {Input("dy", 4)},
                  .attributes = {{"begin", {0, 1, 0}}, {"size", {2, 1, 4}}},
                  .name = "rows"});
  const Tensor x = g_.Placeholder("x", DType::kFloat32, {2, 1, 4});
  Add("AddN", "sum", {rows, x});
  Run();
  EXPECT_TRUE(Has("rows"));
}

// Its bytes may change before a reader runs.
TEST_F(ReadPartsTest, SlicesOfVariablesStay) {
  const Tensor variable =
      AddVariable(g_, {.name = "variable", .shape = {2, 3, 7}});
  Add("AddN", "sum", {Slice("cut", variable, 2, 4), Input("x", 4)});
  Run();
  EXPECT_TRUE(Has("cut"));
}

TEST_F(ReadPartsTest, LaterReadersReadInsideAConcatenation) {
  const Tensor a = Add("Relu", "a", {Input("p", 3)});
  const Tensor b = Add("Relu", "b", {Input("q", 5)});
  const Tensor early = Add("AddN", "early", {a, Input("r", 3)});
  const Tensor whole = Concat("whole", {a, b});
  const Tensor dy = Add("Tanh", "dy", {whole});
  const Tensor da = Add("ReluGrad", "da", {Slice("cut_a", dy, 0, 3), a});
  const Tensor db = Add("ReluGrad", "db", {Slice("cut_b", dy, 3, 5), b});
  Concat("last", {da, db, early});
  Run();
  EXPECT_THAT(InputsOf("early"), ElementsAre("a", "r"));
  EXPECT_THAT(InputsOf("da"), ElementsAre("dy", "whole"));
  EXPECT_THAT(Parts("da"), ElementsAre(List{0, 0, 3}, List{1, 0, 3}));
  EXPECT_THAT(InputsOf("db"), ElementsAre("dy", "whole"));
  EXPECT_THAT(Parts("db"), ElementsAre(List{0, 3, 5}, List{1, 3, 5}));
}

// As in DenseNet: each concatenation is the first part of the next.
TEST_F(ReadPartsTest, NestedConcatenationsAreReadInTheWidest) {
  const Tensor a = Add("Relu", "a", {Input("p", 4)});
  const Tensor one = Concat("one", {a, Add("Tanh", "b", {a})});
  const Tensor two = Concat("two", {Add("Tanh", "c", {one}), one});
  const Tensor dy = Slice("cut", Add("Tanh", "dy", {two}), 0, 8);
  const Tensor done = Add("ReluGrad", "done", {dy, one});
  Add("ReluGrad", "da", {Slice("first", done, 4, 4), a});
  Run();
  EXPECT_THAT(InputsOf("done"), ElementsAre("dy", "two"));
  EXPECT_THAT(Parts("done"), ElementsAre(List{0, 0, 8}, List{1, 8, 8}));
  EXPECT_THAT(InputsOf("da"), ElementsAre("done", "two"));
  EXPECT_THAT(Parts("da"), ElementsAre(List{0, 4, 4}, List{1, 8, 4}));
}

TEST_F(ReadPartsTest, ASmallPartDoesNotKeepAConcatenation) {
  const Tensor a = Add("Relu", "a", {Input("p", 3)});
  const Tensor whole = Concat("whole", {a, Input("q", 4)});
  const Tensor dy = Slice("cut", Add("Tanh", "dy", {whole}), 0, 3);
  Add("ReluGrad", "da", {dy, a});
  Run();
  EXPECT_THAT(InputsOf("da"), ElementsAre("dy", "a"));
}

TEST_F(ReadPartsTest, AValueThatAReaderNeedsWholeIsReadWhereItIs) {
  const Tensor a = Add("Relu", "a", {Input("p", 5)});
  const Tensor whole = Concat("whole", {a, Input("q", 4)});
  const Tensor dy = Slice("cut", Add("Tanh", "dy", {whole}), 0, 5);
  const Tensor da = Add("ReluGrad", "da", {dy, a});
  Add("TanhGrad", "last",
      {Add("AddN", "sum", {da, da}), Add("Mul", "product", {a, da})});
  Run();
  EXPECT_THAT(InputsOf("da"), ElementsAre("dy", "a"));
}

}  // namespace
}  // namespace spillway
