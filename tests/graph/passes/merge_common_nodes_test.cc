#include "graph/passes/merge_common_nodes.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/graph_text.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::GraphText;

constexpr Pass kMergePass = {"merge", "", MergeCommonNodes};

class MergeCommonNodesTest : public ::testing::Test {
 protected:
  Tensor Input(const char* name) {
    return g_.Placeholder(name, DType::kFloat32, {4, 3});
  }
  Tensor Dropped(const char* scope, Tensor x, int64_t seed) {
    return g_.Add(g_.Scope(scope),
                  {.op = "Dropout",
                   .inputs = {x},
                   .attributes = {{"rate", 0.5}, {"seed", seed}}});
  }
  Tensor Reader(const char* name, Tensor variable, Tensor after) {
    return g_.Add(g_,
                  {.op = "Relu",
                   .inputs = {variable},
                   .name = name,
                   .control_inputs = after.is_valid() ? std::vector{after}
                                                      : std::vector<Tensor>()});
  }

  std::string Optimize(const std::vector<Tensor>& keep) {
    std::vector<ValueId> ids;
    for (const Tensor tensor : keep) ids.push_back(tensor.id());
    const auto result =
        RunPasses(g_.graph(), g_.registry(), std::vector{kMergePass}, ids);
    EXPECT_THAT(result, testing::IsOk());
    return result.ok() ? GraphText(result->graph) : "";
  }

  GraphBuilder g_{StandardOps()};
};

TEST_F(MergeCommonNodesTest, EqualExpressionsBecomeOne) {
  const Tensor x = Input("x");
  const Tensor a =
      Relu(g_.Scope("a"), Activate(g_.Scope("a"), x, Activation::kTanh));
  const Tensor b =
      Relu(g_.Scope("b"), Activate(g_.Scope("b"), x, Activation::kTanh));
  const Tensor sum = Add(g_, a, b);
  EXPECT_EQ(Optimize({sum}),
            "x = Placeholder()\n"
            "a/Tanh = Tanh(x)\n"
            "a/Relu = Relu(a/Tanh)\n"
            "Add = Add(a/Relu, a/Relu)\n");
}

TEST_F(MergeCommonNodesTest, ControlEdgesMoveToTheNodeThatStays) {
  const Tensor x = Input("x");
  const Tensor a = Relu(g_.Scope("a"), x);
  const Tensor b = Relu(g_.Scope("b"), x);
  const Tensor c = Relu(g_.Scope("c"), Input("y"));
  g_.AddControlEdge(b, c);
  EXPECT_EQ(Optimize({a, c}),
            "x = Placeholder()\n"
            "a/Relu = Relu(x)\n"
            "y = Placeholder()\n"
            "c/Relu = Relu(y) ^a/Relu\n");
}

TEST_F(MergeCommonNodesTest, DifferentAttributesInputsOrOrdersStay) {
  const Tensor x = Input("x");
  Dropped("seed1", x, 1);
  Dropped("seed2", x, 2);
  Relu(g_.Scope("of_x"), x);
  Relu(g_.Scope("of_y"), Input("y"));
  const Tensor after = Relu(g_.Scope("after"), x);
  g_.AddControlEdge(Input("z"), after);
  EXPECT_EQ(Optimize({}), GraphText(g_.graph()));
}

TEST_F(MergeCommonNodesTest, EqualMasksAreOne) {
  const Tensor x = Input("x");
  const Tensor a = Dropped("a", x, 1);
  const Tensor b = Dropped("b", x, 1);
  const Tensor sum = Add(g_, a, b);
  EXPECT_EQ(Optimize({sum}),
            "x = Placeholder()\n"
            "a/Dropout = Dropout(x)\n"
            "Add = Add(a/Dropout, a/Dropout)\n");
}

TEST_F(MergeCommonNodesTest, ReadersOnBothSidesOfAnUpdateStayApart) {
  const Tensor variable = AddVariable(g_, {.name = "w", .shape = {2}});
  const Tensor before = Reader("before", variable, Tensor());
  const Tensor update = g_.Add(
      g_, {.op = "AssignAdd",
           .inputs = {variable, g_.Placeholder("d", DType::kFloat32, {2})},
           .name = "update",
           .control_inputs = {before}});
  Reader("after", variable, update);
  Reader("after_too", variable, update);
  EXPECT_EQ(Optimize({}), GraphText(g_.graph()));
}

TEST_F(MergeCommonNodesTest, VariablesAndFeedsAreNeverMerged) {
  Input("x");
  Input("y");
  AddVariable(g_.Scope("a"), {.name = "w", .shape = {2}});
  AddVariable(g_.Scope("b"), {.name = "w", .shape = {2}});
  EXPECT_EQ(Optimize({}), GraphText(g_.graph()));
}

}  // namespace
}  // namespace spillway
