// The fixture of the passes about parts (graph/parts.h): a graph of small
// tensors [2, 3, channels], and what a pass makes of it.
#ifndef SPILLWAY_TESTS_GRAPH_PASSES_PARTS_PASS_TEST_H_
#define SPILLWAY_TESTS_GRAPH_PASSES_PARTS_PASS_TEST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/builder/builder.h"
#include "graph/parts.h"
#include "graph/passes/pass.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {

class PartsPassTest : public ::testing::Test {
 protected:
  explicit PartsPassTest(const Pass& pass) : pass_(pass) {}

  Tensor Input(const std::string& name, int64_t channels) {
    return g_.Placeholder(name, DType::kFloat32, {2, 3, channels});
  }
  Tensor Slice(const std::string& name, Tensor x, int64_t begin, int64_t size) {
    return g_.Add(
        g_, {.op = "Slice",
             .inputs = {x},
             .attributes = {{"begin", {0, 0, begin}}, {"size", {2, 3, size}}},
             .name = name});
  }
  Tensor Concat(const std::string& name, const std::vector<Tensor>& xs,
                int64_t room = 0) {
    return g_.Add(g_, {.op = "Concat",
                       .inputs = xs,
                       .attributes = {{"axis", -1}, {"room", room}},
                       .name = name});
  }
  Tensor Add(const std::string& op, const std::string& name,
             const std::vector<Tensor>& inputs) {
    return g_.Add(g_, {.op = op, .inputs = inputs, .name = name});
  }

  // Runs the pass; keeps the last node's value and `kept`.
  void Run(std::vector<ValueId> kept = {}) {
    ASSERT_THAT(g_.status(), IsOk());
    kept.push_back(g_.graph().output(NodeId(g_.graph().num_nodes() - 1)));
    auto result =
        RunPasses(g_.graph(), g_.registry(), std::vector{pass_}, kept);
    ASSERT_THAT(result, IsOk());
    result_ = std::move(result->graph);
  }

  const Node& Result(const std::string& name) const {
    return result_.node(*result_.FindNode(name));
  }
  std::vector<InputPart> Parts(const std::string& name) const {
    const Node& node = Result(name);
    return PartsOf(*g_.registry().Find(node.op), node.attributes).value();
  }

  const Pass pass_;
  GraphBuilder g_{StandardOps()};
  Graph result_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_GRAPH_PASSES_PARTS_PASS_TEST_H_
