// Compares version 2 in compat mode with its naive twin, edge by edge, over
// random graphs with all constructs that its rules mention.
#include <fmt/format.h>

#include "lms/apply_swap_plan.h"
#include "lms/lms.h"
#include "tests/lms/v2/naive_v2.h"
#include "tests/lms/v2/random_v2_case.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::IsOk;
using testing::kHasSanitizer;
using testing::LeastCases;
using testing::NaiveOp;
using testing::NaiveV2;
using testing::NumCases;
using testing::RandomV2Case;

std::set<int> ControlsOf(const Node& node) {
  std::set<int> controls;
  for (const NodeId before : node.control_inputs) {
    controls.insert(before.value());
  }
  return controls;
}

struct PlannedTotals {
  int64_t swap_ins = 0;
  int64_t triggers = 0;
  int64_t cycles = 0;
};

void ExpectEqual(const Graph& edited, const std::vector<NaiveOp>& expected) {
  ASSERT_EQ(edited.num_nodes(), expected.size());
  for (const Node& node : edited.nodes()) {
    const NaiveOp& op = expected[node.id.index()];
    SCOPED_TRACE(node.name);
    std::vector<std::pair<int, int>> inputs;
    for (const ValueId input : node.inputs) {
      inputs.emplace_back(edited.value(input).producer.value(),
                          edited.value(input).index);
    }
    EXPECT_EQ(inputs, op.inputs);
    EXPECT_EQ(ControlsOf(node), op.controls);
  }
}

void CheckEdit(const Graph& graph, const LmsOptions& options,
               PlannedTotals& totals) {
  Graph edited = graph;
  ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(options, edited));
  // If several triggers are valid, the twin takes ours if it is one of them.
  const auto choose = [&](int swap_in, const std::set<int>& candidates) {
    ++totals.triggers;
    const NodeId id(swap_in);
    if (id.index() < edited.num_nodes()) {
      const std::set<int> ours = ControlsOf(edited.node(id));
      if (ours.size() == 1 && candidates.contains(*ours.begin())) {
        return *ours.begin();
      }
    }
    return *candidates.begin();
  };
  NaiveV2 naive(graph, options, choose);
  ExpectEqual(edited, naive.Run());
  totals.swap_ins += report.swap_ins;
  totals.cycles += naive.cycles_refused();
}

void CheckRandom(uint32_t seed, PlannedTotals& totals) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  RandomV2Case random(seed);
  const Graph graph = random.MakeGraph();
  CheckEdit(graph, random.MakeOptions(graph), totals);
}

enum class Layout { kResidual, kInception, kUNet };

// A forward part, and for each of its nodes a gradient node that reads the
// gradients of the node's readers and the node's inputs.
Graph MakeTrainingGraph(Layout layout, int depth) {
  const TensorType type{.dtype = DType::kFloat32, .shape = {16, 16}};
  Graph graph("training");
  std::vector<NodeId> forward;
  const auto add = [&](std::vector<int> from) {
    NodeSpec spec{.name = fmt::format("f{}", forward.size()), .op = "Forward"};
    for (const int i : from) {
      spec.inputs.push_back(graph.output(forward[static_cast<size_t>(i)]));
    }
    spec.outputs = {type};
    forward.push_back(graph.AddNode(spec));
  };
  add({});
  for (int i = 1; i < depth; ++i) {
    const int last = static_cast<int>(forward.size()) - 1;
    if (layout == Layout::kInception && i % 4 == 0) {
      for (int branch = 0; branch < 3; ++branch) add({last});
      add({last + 3});  // the last branch is longer
      add({last + 1, last + 2, last + 4});
    } else if (layout == Layout::kResidual && i % 3 == 0) {
      add({last, last - 2});
    } else if (layout == Layout::kUNet && 2 * i > depth) {
      add({last, depth - 1 - i});
    } else {
      add({last});
    }
  }
  std::vector<NodeId> gradient(forward.size());
  for (size_t i = forward.size(); i-- > 0;) {
    const Node node = graph.node(forward[i]);
    NodeSpec spec{.name = "opt/gradients/" + node.name, .op = "Backward"};
    for (const Use& use : graph.uses(node.outputs[0])) {
      if (use.node.index() >= forward.size()) continue;
      spec.inputs.push_back(graph.output(gradient[use.node.index()]));
    }
    spec.inputs.insert(spec.inputs.end(), node.inputs.begin(),
                       node.inputs.end());
    if (i % 2 == 0) spec.inputs.push_back(node.outputs[0]);
    spec.outputs = {type};
    gradient[i] = graph.AddNode(spec);
  }
  return graph;
}

TEST(NaiveV2Test, CompatEditsOfNetworksAreThoseOfTheTwin) {
  // 7 has no factor in common with the periods of the options, so each option
  // still has each of its values.
  constexpr uint32_t kStride = kHasSanitizer ? 7 : 1;
  PlannedTotals totals;
  for (const Layout layout :
       {Layout::kResidual, Layout::kInception, Layout::kUNet}) {
    const Graph graph = MakeTrainingGraph(layout, 20);
    for (uint32_t i = 0; i < 48 && !HasFailure(); i += kStride) {
      SCOPED_TRACE(::testing::Message()
                   << "layout " << static_cast<int>(layout) << " " << i);
      LmsOptions options{.mode = LmsMode::kV2, .compat = true};
      options.v2.sync_mode = i % 4;
      options.v2.swapout_threshold = 1 + i / 4 % 3 * 4;
      options.v2.swapin_ahead = 1 + i / 12 * 4;
      options.v2.swapin_groupby = i % 3 * 2;
      if (i % 5 == 0) options.v2.serialization = {"3:30:2", "4", "-9:"};
      CheckEdit(graph, options, totals);
    }
  }
  EXPECT_GT(totals.triggers, LeastCases(500));
  EXPECT_EQ(totals.cycles, 0);  // no node is on the host
}

TEST(NaiveV2Test, CompatEditsAreThoseOfTheTwinEdgeByEdge) {
  PlannedTotals totals;
  for (uint32_t seed = 0; seed < NumCases(6000) && !HasFailure(); ++seed) {
    CheckRandom(seed, totals);
  }
  EXPECT_GT(totals.swap_ins, LeastCases(5000));
  EXPECT_GT(totals.triggers, LeastCases(500));
  EXPECT_GT(totals.cycles, LeastCases(10));
}

}  // namespace
}  // namespace spillway
