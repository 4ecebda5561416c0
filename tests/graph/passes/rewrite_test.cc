#include "graph/passes/rewrite.h"

#include <string>

#include "graph/builder/builder.h"
#include "gtest/gtest.h"
#include "tests/graph/scalar_ops.h"
#include "tests/support/graph_text.h"

namespace spillway {
namespace {

using testing::GraphText;

// x -> a -> b -> c, and d = Floor(x) after b.
class RewriteTest : public ::testing::Test {
 protected:
  RewriteTest() {
    x_ = g_.Placeholder("x", DType::kFloat32, Shape());
    a_ = Node("a", "Negate", x_);
    b_ = Node("b", "Floor", a_);
    c_ = Node("c", "Negate", b_);
    d_ = Node("d", "Floor", x_);
    g_.AddControlEdge(b_, d_);
  }

  Tensor Node(const char* name, const char* op, Tensor input) {
    return g_.Add(g_, {.op = op, .inputs = {input}, .name = name});
  }
  NodeId IdOf(Tensor tensor) const {
    return g_.graph().value(tensor.id()).producer;
  }

  const OpRegistry ops_ = testing::ScalarOps();
  GraphBuilder g_{ops_};
  Tensor x_, a_, b_, c_, d_;
};

TEST_F(RewriteTest, NothingChangesNothing) {
  const GraphRewrite rewrite(g_.graph());
  const RewrittenGraph result = rewrite.Apply();
  EXPECT_EQ(GraphText(result.graph), GraphText(g_.graph()));
  EXPECT_EQ(result.values[c_.id()], c_.id());
  EXPECT_EQ(rewrite.num_changes(), 0);
}

TEST_F(RewriteTest, AReplacedNodeKeepsItsPlaceAndReaders) {
  GraphRewrite rewrite(g_.graph());
  NodeSpec spec = SpecOf(g_.graph(), g_.graph().node(IdOf(b_)));
  spec.name = "new";
  spec.inputs = {x_.id()};
  rewrite.Replace(IdOf(b_), spec);
  EXPECT_EQ(GraphText(rewrite.Apply().graph),
            "x = Placeholder()\n"
            "a = Negate(x)\n"
            "new = Floor(x)\n"
            "c = Negate(new)\n"
            "d = Floor(x) ^new\n");
}

TEST_F(RewriteTest, WhatStandsForADroppedNodeInheritsItsControlEdges) {
  GraphRewrite rewrite(g_.graph());
  rewrite.Drop(IdOf(b_), IdOf(a_));
  rewrite.Redirect(b_.id(), {.node = IdOf(a_), .index = 0});
  const RewrittenGraph result = rewrite.Apply();
  EXPECT_EQ(GraphText(result.graph),
            "x = Placeholder()\n"
            "a = Negate(x)\n"
            "c = Negate(a)\n"
            "d = Floor(x) ^a\n");
  EXPECT_EQ(result.values[b_.id()], result.values[a_.id()]);
}

TEST_F(RewriteTest, AnInputIsConnectedWhateverTheSpecSays) {
  GraphRewrite rewrite(g_.graph());
  NodeSpec spec = SpecOf(g_.graph(), g_.graph().node(IdOf(a_)));
  spec.outputs.push_back(spec.outputs.front());
  rewrite.Replace(IdOf(a_), spec);
  rewrite.Connect(IdOf(c_), 0, {.node = IdOf(a_), .index = 1});
  EXPECT_EQ(GraphText(rewrite.Apply().graph),
            "x = Placeholder()\n"
            "a = Negate(x)\n"
            "b = Floor(a)\n"
            "c = Negate(a:1)\n"
            "d = Floor(x) ^b\n");
}

TEST_F(RewriteTest, ValuesOfDroppedNodesAreGone) {
  GraphRewrite rewrite(g_.graph());
  rewrite.Drop(IdOf(c_));
  rewrite.Drop(IdOf(b_));
  const RewrittenGraph result = rewrite.Apply();
  EXPECT_EQ(GraphText(result.graph),
            "x = Placeholder()\n"
            "a = Negate(x)\n"
            "d = Floor(x)\n");
  EXPECT_FALSE(result.values[c_.id()].is_valid());
  EXPECT_TRUE(result.values[d_.id()].is_valid());
}

}  // namespace
}  // namespace spillway
