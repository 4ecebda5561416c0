#include "graph/clone_names.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/support/small_graphs.h"

namespace spillway {
namespace {

using testing::AddPlanNode;

// The name of the original of the node called `clone`; empty if none is found.
std::string OriginalOf(const Graph& graph, std::string_view clone) {
  const auto originals = OriginalsByName(graph);
  const NodeId original = originals[*graph.FindNode(clone)];
  return original.is_valid() ? graph.node(original).name : "";
}

TEST(CloneNamesTest, NamesOfScopesBecomeFlat) {
  EXPECT_EQ(FlatName("conv1/Relu:0"), "conv1_Relu_0");
}

TEST(CloneNamesTest, AnOriginalIsFoundByTheNameOfItsClone) {
  Graph graph;
  AddPlanNode(graph, "block/norm", "FusedBatchNorm", {});
  AddPlanNode(graph, "block/norm_2", "FusedBatchNorm", {});
  AddPlanNode(graph, "lms/recompute_block_norm", "BatchNormApply", {});
  AddPlanNode(graph, "lms/recompute_block_norm_1", "BatchNormApply", {});
  AddPlanNode(graph, "lms/recompute_block_norm_2", "BatchNormApply", {});
  AddPlanNode(graph, "lms/recompute_lost", "Relu", {});
  EXPECT_EQ(OriginalOf(graph, "lms/recompute_block_norm"), "block/norm");
  EXPECT_EQ(OriginalOf(graph, "lms/recompute_block_norm_1"), "block/norm");
  EXPECT_EQ(OriginalOf(graph, "lms/recompute_block_norm_2"), "block/norm_2");
  EXPECT_EQ(OriginalOf(graph, "lms/recompute_lost"), "");
  EXPECT_EQ(OriginalOf(graph, "block/norm"), "");
}

TEST(CloneNamesTest, OfEqualFlatNamesTheOpDecides) {
  Graph graph;
  AddPlanNode(graph, "a/b", "Relu", {});
  AddPlanNode(graph, "a_b", "MaxPool", {});
  AddPlanNode(graph, "lms/recompute_a_b", "MaxPool", {});
  AddPlanNode(graph, "lms/recompute_a_b_1", "Relu", {});
  EXPECT_EQ(OriginalOf(graph, "lms/recompute_a_b"), "a_b");
  EXPECT_EQ(OriginalOf(graph, "lms/recompute_a_b_1"), "a/b");
}

TEST(CloneNamesTest, AGraphWithoutClonesHasNoOriginals) {
  EXPECT_TRUE(OriginalsByName(testing::ChainGraph()).empty());
}

}  // namespace
}  // namespace spillway
