#include "lms/recompute/clonable.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/builder/builder.h"
#include "gtest/gtest.h"
#include "lms/recompute/apply_recompute_plan.h"
#include "lms/recompute/verify_recompute.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// A tensor of 12 channels that grows, 6 at first, then 9, then 12.
class GrownTensorTest : public ::testing::Test {
 protected:
  GrownTensorTest() {
    six_ = g_.Add(g_, {.op = "Concat",
                       .inputs = {Input("a", 4), Input("b", 2)},
                       .attributes = {{"axis", -1}, {"room", 6}},
                       .name = "six"});
    nine_ = Grow("nine", six_, 6);
    twelve_ = Grow("twelve", nine_, 9);
  }

  Tensor Input(const std::string& name, int64_t channels) {
    return g_.Placeholder(name, DType::kFloat32, {2, 3, channels});
  }

  Tensor Grow(const std::string& name, Tensor base, int64_t begin) {
    return g_.Add(g_, {.op = "ConcatInto",
                       .inputs = {base, Input(name + "/new", 3)},
                       .attributes = {{"axis", -1}, {"begin", begin}},
                       .name = name});
  }

  // A norm of the first channels of x.
  Tensor Norm(const std::string& name, Tensor x, int64_t channels) {
    std::vector<Tensor> inputs = {x};
    for (const char* vector : {"/scale", "/offset", "/mean", "/variance"}) {
      inputs.push_back(g_.Add(g_, {.op = "Variable",
                                   .attributes = {{"dtype", "float32"},
                                                  {"shape", Shape({channels})}},
                                   .name = name + vector}));
    }
    return g_.AddAll(g_, {.op = "FusedBatchNorm",
                          .inputs = inputs,
                          .attributes = {{"parts", {{0, 0, channels}}}},
                          .name = name})[0];
  }

  const Node& Maker(Tensor tensor) const {
    return g_.graph().producer(tensor.id());
  }

  // What the node that makes y, output 0 of a norm, again reads as its x.
  ValueId RemadeFrom(Tensor y) const {
    const std::optional<DerivedNode> derived =
        DeriveOutput(g_.graph(), Maker(y), 0, g_.registry());
    EXPECT_TRUE(derived.has_value());
    if (!derived) return ValueId();
    return InputsOfDerived(g_.graph(), Maker(y), *derived, g_.registry())[0];
  }

  GraphBuilder g_{StandardOps()};
  Tensor six_, nine_, twelve_;
};

TEST_F(GrownTensorTest, IsReadAsItIsInTheEnd) {
  EXPECT_EQ(RemadeFrom(Norm("n6", six_, 6)), twelve_.id());
  EXPECT_EQ(RemadeFrom(Norm("n9", nine_, 9)), twelve_.id());
  EXPECT_EQ(RemadeFrom(Norm("n12", twelve_, 12)), twelve_.id());
}

TEST_F(GrownTensorTest, IsReadBeforeAChannelChanges) {
  EXPECT_EQ(RemadeFrom(Norm("n7", six_, 7)), six_.id());
  EXPECT_EQ(RemadeFrom(Norm("n10", nine_, 10)), nine_.id());
}

TEST_F(GrownTensorTest, StatesAreTheSameUpToWhatIsAdded) {
  const Graph& graph = g_.graph();
  EXPECT_TRUE(IsSameUpTo(graph, six_.id(), six_.id(), 12));
  EXPECT_TRUE(IsSameUpTo(graph, six_.id(), nine_.id(), 6));
  EXPECT_TRUE(IsSameUpTo(graph, six_.id(), twelve_.id(), 6));
  EXPECT_FALSE(IsSameUpTo(graph, six_.id(), twelve_.id(), 7));
  EXPECT_TRUE(IsSameUpTo(graph, nine_.id(), twelve_.id(), 9));
  EXPECT_FALSE(IsSameUpTo(graph, nine_.id(), six_.id(), 6));  // not later
}

// A reader of y reads a clone instead, which reads `x`.
absl::Status VerifyClone(GraphBuilder& g, Tensor y, Tensor x) {
  const Tensor last = g.Add(g, {.op = "Relu", .inputs = {y}, .name = "reader"});
  const Graph graph = g.graph();
  const Node& norm = graph.producer(y.id());
  RecomputePlan plan;
  plan.clones.push_back(
      {.original = norm.id,
       .derived_output = 0,
       .inputs = {{.value = x.id()},
                  {.value = norm.inputs[1]},
                  {.value = norm.inputs[2]},
                  {.value = norm.outputs[1]},
                  {.value = norm.outputs[2]}},
       .triggers = {graph.producer(x.id()).id},
       .readers = {{.output = 0, .readers = {graph.producer(last.id()).id}}}});
  Graph edited = graph;
  ApplyRecomputePlan(plan, StandardOps(), edited);
  return VerifyRecompute(graph, edited, plan, StandardOps());
}

TEST_F(GrownTensorTest, ACloneMayReadALaterState) {
  EXPECT_THAT(VerifyClone(g_, Norm("n", six_, 6), twelve_), IsOk());
}

TEST_F(GrownTensorTest, ACloneOfOtherChannelsIsRefused) {
  EXPECT_THAT(VerifyClone(g_, Norm("n", six_, 7), nine_),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("its input 0 is nine:0")));
}

TEST_F(GrownTensorTest, ACloneOfAnEarlierStateIsRefused) {
  EXPECT_THAT(
      VerifyClone(g_, Norm("n", nine_, 6), six_),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("its input 0 is six:0")));
}

}  // namespace
}  // namespace spillway
