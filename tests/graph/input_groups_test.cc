#include "graph/input_groups.h"

#include <string>
#include <vector>

#include "graph/builder/builder.h"
#include "graph/verify.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

const OpDef& MomentumOp() { return *StandardOps().Find("ApplyMomentum"); }

TEST(InputGroupsTest, AGroupFollowsTheOther) {
  EXPECT_EQ(NumGroups(MomentumOp(), 4), 1);
  EXPECT_EQ(NumGroups(MomentumOp(), 10), 3);
  EXPECT_THAT(MutatedInputs(MomentumOp(), 10), ElementsAre(0, 1, 3, 4, 6, 7));
  std::vector<int> inputs;
  std::vector<int> outputs;
  for (const BufferPair& pair : AliasesOf(MomentumOp(), 10)) {
    inputs.push_back(pair.input);
    outputs.push_back(pair.output);
    EXPECT_EQ(AliasedInput(MomentumOp(), pair.output), pair.input);
  }
  EXPECT_THAT(inputs, ElementsAre(0, 3, 6));
  EXPECT_THAT(outputs, ElementsAre(0, 1, 2));
}

TEST(InputGroupsTest, AnOpWithoutGroupsSaysTheSameOfAnyNode) {
  const OpDef& identity = *StandardOps().Find("Identity");
  EXPECT_EQ(NumGroups(identity, 1), 1);
  EXPECT_EQ(AliasedInput(identity, 0), 0);
  const OpDef& norm = *StandardOps().Find("FusedBatchNorm");
  EXPECT_THAT(MutatedInputs(norm, 5), ElementsAre(3, 4));
  EXPECT_EQ(AliasedInput(norm, 0), -1);
}

// The second variable's reader must be ordered too.
TEST(InputGroupsTest, EveryGroupsVariableIsKnownToBeOverwritten) {
  for (const bool has_edge : {true, false}) {
    GraphBuilder g(StandardOps());
    std::vector<Tensor> inputs;
    Tensor last;
    for (const char* name : {"w1", "w2"}) {
      last = g.Add(
          g, {.op = "Variable",
              .attributes = {{"dtype", DType::kFloat32}, {"shape", Shape{4}}},
              .name = name});
      inputs.push_back(last);
      inputs.push_back(
          g.Placeholder(std::string("g_") + name, DType::kFloat32, Shape{4}));
    }
    inputs.push_back(g.Placeholder("rate", DType::kFloat32, Shape()));
    const Tensor reader = g.Add(g, {.op = "Relu", .inputs = {last}});
    OpSpec update = {.op = "ApplyGradientDescent", .inputs = inputs};
    if (has_edge) update.control_inputs = {reader};
    g.Add(g, update);
    const auto graph = std::move(g).Build();
    const absl::Status valid =
        graph.ok() ? VerifyGraph(*graph, StandardOps()) : graph.status();
    if (has_edge) {
      EXPECT_THAT(valid, testing::IsOk());
    } else {
      EXPECT_THAT(valid, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("use w2:0, which one of them")));
    }
  }
}

}  // namespace
}  // namespace spillway
