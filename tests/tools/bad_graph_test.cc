// Invalid graph files and feeds: one line that names the problem, the right
// exit status, and no file changed.
#include <string>
#include <vector>

#include "base/file.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunProgram;

// A graph file that every command that reads one must refuse.
struct BadGraph {
  std::string name = {};
  std::string text = {};
  std::string message = {};
};

// A graph file with these nodes.
std::string GraphOf(const std::string& nodes) {
  return R"({"format": "spillway.graph", "version": 1, "name": "bad", "nodes": [)" +
         nodes + "]}";
}

constexpr const char* kFeed =
    R"({"name": "x", "op": "Placeholder", "attrs": {"dtype": "float32", "shape": [2, 3]}})";

class GraphFileTest : public ::testing::TestWithParam<BadGraph> {};

TEST_P(GraphFileTest, IsRefusedByEveryCommandAndLeavesNothing) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("bad.json");
  ASSERT_THAT(WriteFileAtomically(path, GetParam().text), IsOk());
  const auto is_refused =
      Refuses(2, AllOf(HasSubstr("--graph"), HasSubstr(GetParam().message)));
  const std::string out = folder.File("out");
  EXPECT_THAT(RunProgram({"edit", "--graph", path, "--out", out}), is_refused);
  EXPECT_THAT(RunProgram({"inspect", "--graph", path, "--out", out}),
              is_refused);
  EXPECT_THAT(RunProgram({"simulate", "--graph", path, "--json", out}),
              is_refused);
  EXPECT_THAT(
      RunProgram({"run", "--graph", path, "--fetch", "x", "--out", out}),
      is_refused);
  EXPECT_THAT(folder.Names(), ElementsAre("bad.json"));
}

std::vector<BadGraph> DamagedFiles() {
  return {
      {"Empty", "", "bad.json"},
      {"NotJson", "graph { a -> b }", "bad.json"},
      {"Truncated", GraphOf(kFeed).substr(0, 90), "bad.json"},
      {"NotAGraph", "[1, 2, 3]", "bad.json"},
      {"OtherFormat", R"({"format": "onnx", "version": 1, "nodes": []})",
       "format"},
      {"DeepNesting", std::string(100'000, '['), "bad.json"},
  };
}

std::vector<BadGraph> WrongNodes() {
  return {
      {"UnknownField",
       GraphOf(R"({"name": "x", "op": "Relu", "input": ["x"]})"), "input"},
      {"DuplicateName", GraphOf(fmt::format("{}, {}", kFeed, kFeed)), "x"},
      {"UnknownInput",
       GraphOf(R"({"name": "y", "op": "Relu", "inputs": ["nobody:0"]})"),
       "nobody"},
      {"UnknownOutputSlot",
       GraphOf(fmt::format(
           R"({}, {{"name": "y", "op": "Relu", "inputs": ["x:7"]}})", kFeed)),
       "x:7"},
      {"Cycle", GraphOf(R"({"name": "a", "op": "Mystery", "inputs": ["b:0"],
                   "outputs": [{"dtype": "float32", "shape": [1]}]},
                  {"name": "b", "op": "Mystery", "inputs": ["a:0"],
                   "outputs": [{"dtype": "float32", "shape": [1]}]})"),
       "cycle"},
      {"HugeDimension", GraphOf(R"({"name": "x", "op": "Placeholder", "attrs":
                   {"dtype": "float32", "shape": [4000000000, 4000000000]}})"),
       "x"},
      {"NegativeDimension",
       GraphOf(R"({"name": "x", "op": "Placeholder", "attrs":
                   {"dtype": "float32", "shape": [2, -3]}})"),
       "x"},
      {"WrongStatedShape",
       GraphOf(fmt::format(
           R"({}, {{"name": "y", "op": "Relu", "inputs": ["x"], "outputs":
               [{{"dtype": "float32", "shape": [3, 2]}}]}})",
           kFeed)),
       "y"},
      {"MissingAttribute", GraphOf(R"({"name": "x", "op": "Placeholder"})"),
       "x"},
      {"TooManyInputs",
       GraphOf(fmt::format(
           R"({}, {{"name": "y", "op": "Relu", "inputs": ["x", "x"]}})",
           kFeed)),
       "y"},
      {"UnknownOpWithoutOutputs", GraphOf(R"({"name": "m", "op": "Mystery"})"),
       "m"},
  };
}

std::string GraphName(const ::testing::TestParamInfo<BadGraph>& instance) {
  return instance.param.name;
}

INSTANTIATE_TEST_SUITE_P(Damaged, GraphFileTest,
                         ::testing::ValuesIn(DamagedFiles()), GraphName);
INSTANTIATE_TEST_SUITE_P(WrongNodes, GraphFileTest,
                         ::testing::ValuesIn(WrongNodes()), GraphName);

HostTensor Float32(const Shape& shape) {
  HostTensor tensor = {.type = {.dtype = DType::kFloat32, .shape = shape}};
  tensor.bytes.resize(static_cast<size_t>(tensor.type.num_bytes()));
  return tensor;
}

// y = Relu(x), and m = Mystery(x), which no build can run.
class RunTest : public ::testing::Test {
 protected:
  RunTest() {
    const std::string text = GraphOf(fmt::format(
        R"({}, {{"name": "y", "op": "Relu", "inputs": ["x"]}},
           {{"name": "m", "op": "Mystery", "inputs": ["x"],
             "outputs": [{{"dtype": "float32", "shape": [2]}}]}})",
        kFeed));
    EXPECT_THAT(WriteFileAtomically(graph_, text), IsOk());
  }

  ProgramRun RunWith(const TensorMap& feeds, const std::string& fetch) {
    EXPECT_THAT(WriteSafetensors(feed_, feeds), IsOk());
    return RunProgram({"run", "--graph", graph_, "--feed", feed_, "--fetch",
                       fetch, "--out", out_});
  }

  testing::TemporaryFolder folder_;
  const std::string graph_ = folder_.File("graph.json");
  const std::string feed_ = folder_.File("feed.safetensors");
  const std::string out_ = folder_.File("out.safetensors");
};

TEST_F(RunTest, RunsWhatIsRight) {
  EXPECT_EQ(RunWith({{"x", Float32({2, 3})}}, "y").exit_status, 0);
  EXPECT_THAT(ReadFile(out_), IsOk());
}

TEST_F(RunTest, AWrongFeedShapeIsNamed) {
  EXPECT_THAT(RunWith({{"x", Float32({3, 2})}}, "y"),
              Refuses(2, AllOf(HasSubstr("--feed"), HasSubstr("[3, 2]"))));
  EXPECT_THAT(folder_.Names(), ElementsAre("feed.safetensors", "graph.json"));
}

TEST_F(RunTest, AnUnknownFeedIsNamed) {
  EXPECT_THAT(RunWith({{"xx", Float32({2, 3})}}, "y"),
              Refuses(2, AllOf(HasSubstr("--feed"), HasSubstr("xx"))));
}

TEST_F(RunTest, AFeedForAComputedValueIsRefused) {
  EXPECT_THAT(RunWith({{"y", Float32({2, 3})}}, "y"),
              Refuses(2, AllOf(HasSubstr("--feed"), HasSubstr("Relu"))));
}

TEST_F(RunTest, AMissingFeedIsNamed) {
  EXPECT_THAT(RunWith({}, "y"), Refuses(2, HasSubstr("x")));
}

TEST_F(RunTest, AnUnknownFetchIsNamed) {
  EXPECT_THAT(RunWith({{"x", Float32({2, 3})}}, "y,z:0"),
              Refuses(2, AllOf(HasSubstr("--fetch"), HasSubstr("'z'"))));
}

TEST_F(RunTest, AnOpThatCannotRunIsNamed) {
  EXPECT_THAT(RunWith({{"x", Float32({2, 3})}}, "m"),
              Refuses(2, AllOf(HasSubstr("m"), HasSubstr("Mystery"))));
}

TEST_F(RunTest, AFeedFileThatIsNoneIsNamed) {
  ASSERT_THAT(WriteFileAtomically(feed_, "{}"), IsOk());
  EXPECT_THAT(
      RunProgram({"run", "--graph", graph_, "--feed", feed_, "--fetch", "y"}),
      Refuses(2, AllOf(HasSubstr("--feed"), HasSubstr(feed_))));
}

TEST_F(RunTest, ABudgetThatIsTooSmallEndsWithThree) {
  ASSERT_THAT(WriteSafetensors(feed_, {{"x", Float32({2, 3})}}), IsOk());
  EXPECT_THAT(RunProgram({"run", "--graph", graph_, "--feed", feed_, "--fetch",
                          "y", "--out", out_, "--device_memory", "16"}),
              Refuses(3, HasSubstr("missing")));
  EXPECT_THAT(folder_.Names(), ElementsAre("feed.safetensors", "graph.json"));
}

// The command edit does not tune.
TEST_F(RunTest, AnEditNeedsOptionsThatAreChosen) {
  EXPECT_THAT(
      RunProgram({"edit", "--graph", graph_, "--lms=auto"}),
      Refuses(2, HasSubstr("--lms: auto leaves the choice to the tuner")));
  EXPECT_THAT(RunProgram({"edit", "--graph", graph_, "--lms=v2",
                          "--lms_swapin_ahead=2", "--lms_swapin_groupby=0"}),
              Refuses(2, HasSubstr("--lms_swapout_threshold: is -1, to be")));
  EXPECT_THAT(
      RunProgram({"edit", "--graph", graph_, "--lms=v2",
                  "--lms_swapout_threshold=3", "--lms_swapin_groupby=0"}),
      Refuses(2, HasSubstr("--lms_swapin_ahead: is -1")));
}

TEST_F(RunTest, PlanOnlyGraphsCanBeInspectedAndSimulated) {
  EXPECT_EQ(RunProgram({"inspect", "--graph", graph_}).exit_status, 0);
  EXPECT_EQ(RunProgram({"simulate", "--graph", graph_}).exit_status, 0);
}

}  // namespace
}  // namespace spillway
