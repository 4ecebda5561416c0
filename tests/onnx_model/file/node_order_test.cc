#include "onnx_model/file/node_order.h"

#include <deque>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace spillway::onnx_model {
namespace {

using spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodeOrderTest : public ::testing::Test {
 protected:
  void Add(const std::string& name, const std::vector<std::string>& inputs,
           const std::string& output) {
    onnx::NodeProto& node = protos_.emplace_back();
    node.set_name(name);
    node.set_op_type("Op");
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    nodes_.push_back(&node);
  }

  absl::StatusOr<std::vector<std::string>> Sort() {
    const auto sorted = SortNodes(nodes_, {"x"});
    if (!sorted.ok()) return sorted.status();
    std::vector<std::string> names;
    for (const onnx::NodeProto* node : *sorted) names.push_back(node->name());
    return names;
  }

  std::deque<onnx::NodeProto> protos_;
  std::vector<const onnx::NodeProto*> nodes_;
};

TEST_F(NodeOrderTest, KeepsAnOrderThatIsOne) {
  Add("a", {"x"}, "1");
  Add("b", {"x"}, "2");
  Add("c", {"1", "2"}, "3");
  ASSERT_OK_AND_ASSIGN(const auto names, Sort());
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

TEST_F(NodeOrderTest, SortsAFileThatIsNot) {
  Add("c", {"1", "", "2"}, "3");
  Add("b", {"1"}, "2");
  Add("a", {"x"}, "1");
  ASSERT_OK_AND_ASSIGN(const auto names, Sort());
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

TEST_F(NodeOrderTest, NamesWhatReadsFromNowhere) {
  Add("a", {"y"}, "1");
  EXPECT_THAT(Sort(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("Op a reads y, which nothing makes")));
}

TEST_F(NodeOrderTest, NamesBothMakersOfAValue) {
  Add("a", {"x"}, "1");
  Add("b", {"x"}, "1");
  EXPECT_THAT(Sort(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("Op b makes the value 1, which Op a "
                                         "makes too")));
}

TEST_F(NodeOrderTest, RefusesToMakeAnInputAgain) {
  Add("a", {"x"}, "x");
  EXPECT_THAT(Sort(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("is an input or an initializer")));
}

TEST_F(NodeOrderTest, NamesTheNodesOfACircle) {
  Add("before", {"x"}, "0");
  Add("a", {"0", "2"}, "1");
  Add("b", {"1"}, "2");
  Add("after", {"2"}, "3");
  EXPECT_THAT(Sort(), StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("2 nodes read each other in a "
                                               "circle"),
                                     HasSubstr("Op a"), HasSubstr("Op b"))));
}

}  // namespace
}  // namespace spillway::onnx_model
