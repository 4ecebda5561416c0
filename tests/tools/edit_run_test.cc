// `spillway inspect`, `edit`, `run`, `simulate` and `models`: from a model to
// an edited graph that computes the same.
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "graph/format/json_format.h"
#include "graph/well_known_ops.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MakeHostTensor;
using testing::ProgramRun;
using testing::RunForJson;
using testing::RunProgram;
using Json = nlohmann::ordered_json;

const std::vector<std::string> kLenet = {
    "--model",       "lenet", "--batch_size",    "8",  "--channels", "1",
    "--num_classes", "10",    "--learning_rate", "0.1"};

std::vector<std::string> With(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// The number of nodes of a graph file whose names begin with `beginning`.
int CountNodes(const std::string& path, std::string_view beginning) {
  const auto graph = ReadGraphFile(path, StandardOps());
  EXPECT_THAT(graph, IsOk());
  int count = 0;
  for (const Node& node : graph->nodes()) {
    count += node.name.starts_with(beginning) ? 1 : 0;
  }
  return count;
}

// A training step of lenet, its feeds, and all of its fetches.
class EditRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(
        RunProgram(With({"inspect", "--out", graph_}, kLenet)).exit_status, 0);
    std::vector<float> pixels;
    for (int i = 0; i < 8 * 28 * 28; ++i) {
      pixels.push_back(static_cast<float>(i % 29) / 29);
    }
    const std::vector<int32_t> classes = {0, 1, 2, 3, 4, 5, 6, 7};
    const HostTensor images = MakeHostTensor(
        {.dtype = DType::kFloat32, .shape = {8, 28, 28, 1}}, pixels);
    const HostTensor labels =
        MakeHostTensor({.dtype = DType::kInt32, .shape = {8}}, classes);
    ASSERT_THAT(
        WriteSafetensors(feed_, {{"images", images}, {"labels:0", labels}}),
        IsOk());
  }

  // The loss and every updated variable.
  std::string Fetches() const {
    const auto graph = ReadGraphFile(graph_, StandardOps());
    EXPECT_THAT(graph, IsOk());
    std::string names;
    for (const Node& node : graph->nodes()) {
      const bool is_loss = node.name.starts_with("loss/");
      if (!is_loss && !node.op.starts_with("Apply")) continue;
      if (!names.empty()) names += ",";
      names += node.name + ":0";
    }
    return names;
  }

  // The bytes of --out.
  std::string RunGraph(const std::string& graph,
                       const std::vector<std::string>& more = {}) {
    const std::string out = folder_.File("out.safetensors");
    const ProgramRun run = RunProgram(
        With({"run", "--graph", graph, "--feed", feed_, "--fetch", Fetches(),
              "--out", out, "--seed", "3", "--threads", "1"},
             more));
    EXPECT_EQ(run.exit_status, 0) << run.err;
    const auto bytes = ReadFile(out);
    EXPECT_THAT(bytes, IsOk());
    return bytes.value_or("");
  }

  testing::TemporaryFolder folder_;
  const std::string graph_ = folder_.File("graph.json");
  const std::string edited_ = folder_.File("edited.json");
  const std::string feed_ = folder_.File("feed.safetensors");
};

TEST_F(EditRunTest, AnEditedGraphComputesTheSameBits) {
  const std::string plain = RunGraph(graph_, {"--device", "inline"});
  EXPECT_GT(plain.size(), 100'000u);
  for (const char* strategy : {"chain_rule", "direct_order"}) {
    const Json edit = RunForJson({"edit", "--graph", graph_, "--out", edited_,
                                  "--lms_ctrld_strategy", strategy});
    EXPECT_EQ(edit["equivalent"], true);
    EXPECT_GT(edit["swap_tensors"].get<int>(), 2);
    // The other added ops are aliases of the copies (lms/swap_plan.h).
    EXPECT_EQ(edit["added_ops"].get<int>(),
              edit["swap_outs"].get<int>() + edit["swap_ins"].get<int>() +
                  CountNodes(edited_, "lms/alias_"));
    for (const char* device : {"inline", "cpu"}) {
      EXPECT_TRUE(RunGraph(edited_, {"--device", device}) == plain)
          << strategy << " on " << device;
    }
  }
}

TEST_F(EditRunTest, RunEditsByItselfWithLms) {
  EXPECT_TRUE(RunGraph(graph_) ==
              RunGraph(graph_, {"--lms", "v1", "--link_gbps=1"}));
}

TEST_F(EditRunTest, CheckingEveryAccessChangesNoBit) {
  EXPECT_TRUE(RunGraph(graph_) ==
              RunGraph(graph_, {"--lms", "v1", "--check_memory"}));
}

TEST_F(EditRunTest, RunPredictsItsPeaksExactly) {
  for (const char* check : {"--check_memory=false", "--check_memory"}) {
    SCOPED_TRACE(check);
    const Json json = RunForJson({"run", "--graph", graph_, "--feed", feed_,
                                  "--fetch", Fetches(), "--lms", "v1", check});
    for (const char* peak : {"peak_device_bytes", "peak_host_bytes"}) {
      EXPECT_EQ(json[peak]["predicted"], json[peak]["measured"]);
      EXPECT_GT(json[peak]["measured"].get<int64_t>(), 0);
    }
    EXPECT_EQ(json["device_allocations_in_steps"], 0);
  }
}

TEST_F(EditRunTest, RunCountsWhatItRecomputes) {
  const std::string graph = folder_.File("without_passes.json");
  ASSERT_EQ(
      RunProgram(With({"inspect", "--passes", "none", "--out", graph}, kLenet))
          .exit_status,
      0);
  const std::vector<std::string> run = {
      "run",     "--graph",         graph,  "--feed", feed_, "--fetch",
      Fetches(), "--lms_recompute", "cheap"};
  const Json edit = RunForJson(
      {"edit", "--graph", graph, "--lms", "off", "--lms_recompute", "cheap"});
  const Json json = RunForJson(run);
  EXPECT_GT(json["recompute"]["nodes"].get<int>(), 0);
  EXPECT_EQ(json["recompute"], edit["recompute"]);
  EXPECT_EQ(json["lms"]["recompute"], "cheap");
  EXPECT_THAT(RunProgram(run).out, HasSubstr("\nrecomputed   "));
}

TEST_F(EditRunTest, AFedVariableReplacesItsInitialValue) {
  ASSERT_OK_AND_ASSIGN(TensorMap feeds, ReadSafetensors(feed_));
  HostTensor biases = {.type = {.dtype = DType::kFloat32, .shape = {32}}};
  biases.bytes.assign(32 * sizeof(float), std::byte{0});
  reinterpret_cast<float*>(biases.bytes.data())[5] = 2.5F;
  feeds["conv1/biases"] = biases;
  ASSERT_THAT(WriteSafetensors(feed_, feeds), IsOk());
  const std::string out = folder_.File("biases.safetensors");
  const ProgramRun run = RunProgram({"run", "--graph", graph_, "--feed", feed_,
                                     "--fetch", "conv1/biases", "--out", out});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  ASSERT_OK_AND_ASSIGN(const TensorMap fetched, ReadSafetensors(out));
  // The step also trains it, so it has changed a little.
  EXPECT_NEAR(fetched.at("conv1/biases").data<float>()[5], 2.5F, 0.5F);
}

TEST_F(EditRunTest, EditingTwiceIsRefused) {
  RunForJson({"edit", "--graph", graph_, "--out", edited_});
  EXPECT_THAT(RunProgram({"edit", "--graph", edited_}),
              testing::Refuses(2, HasSubstr("already")));
}

TEST_F(EditRunTest, AnEditedGraphIsInspectedAndSimulatedAsItIs) {
  const Json edit = RunForJson({"edit", "--graph", graph_, "--out", edited_});
  const Json before = RunForJson({"inspect", "--graph", graph_});
  const Json after = RunForJson({"inspect", "--graph", edited_});
  EXPECT_EQ(after["nodes"].get<int>(),
            before["nodes"].get<int>() + edit["added_ops"].get<int>());
  EXPECT_EQ(after["levels"], edit["levels"]);
  EXPECT_EQ(after["parameters"], before["parameters"]);
  EXPECT_EQ(after["forward_flops"], before["forward_flops"]);
  const Json simulated = RunForJson({"simulate", "--graph", edited_});
  for (const char* field : {"swap_outs", "swap_ins", "out_bytes", "in_bytes"}) {
    EXPECT_EQ(simulated["swap"][field], edit[field]) << field;
  }
  EXPECT_GT(simulated["peak_host_bytes"].get<int64_t>(), 0);
  EXPECT_GE(simulated["peak_device_bytes"].get<int64_t>(),
            simulated["floor"]["bytes"].get<int64_t>());
}

TEST_F(EditRunTest, EditPrintsTheLogLinesOfTheOriginal) {
  const ProgramRun run = RunProgram({"edit", "--graph", graph_, "--lms_lb=2"});
  ASSERT_EQ(run.exit_status, 0);
  EXPECT_THAT(run.err, HasSubstr("[LMS][0] Editing model for LMS\n"));
  EXPECT_THAT(run.err, HasSubstr("[LMS][0] n_tensors: all tensors\n"));
  EXPECT_THAT(run.err, HasSubstr("[LMS][0] lb: 2\n"));
  EXPECT_THAT(run.err, HasSubstr("[LMS][0] Added "));
  EXPECT_THAT(run.out, HasSubstr("equivalent    yes"));
}

TEST_F(EditRunTest, WritesGraphvizText) {
  const std::string dot = folder_.File("graph.dot");
  RunForJson({"edit", "--graph", graph_, "--dot", dot});
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(dot));
  EXPECT_THAT(text, ::testing::StartsWith("digraph"));
  EXPECT_THAT(text, HasSubstr("lms/swapout_"));
}

// F1 -> F2 -> F3 -> F4 and back. All nodes are plan-only.
class PlanOnlyEditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Json nodes = Json::array();
    const auto add = [&](const char* name, const std::vector<std::string>& in) {
      nodes.push_back(
          {{"name", name},
           {"op", "Unknown"},
           {"inputs", in},
           {"outputs", {{{"dtype", "float32"}, {"shape", {16, 16}}}}}});
    };
    add("net/F1", {});
    add("net/F2", {"net/F1"});
    add("net/F3", {"net/F2"});
    add("net/F4", {"net/F3"});
    add("opt/B4", {"net/F4"});
    add("opt/B3", {"opt/B4", "net/F3"});
    add("opt/B2", {"opt/B3", "net/F2"});
    add("opt/B1", {"opt/B2", "net/F1"});
    add("opt/U", {"opt/B1"});
    const Json graph = {{"format", "spillway.graph"},
                        {"version", 1},
                        {"name", "E1"},
                        {"nodes", nodes}};
    ASSERT_THAT(WriteFileAtomically(graph_, FormatJson(graph)), IsOk());
  }

  Json Edit(const std::vector<std::string>& more) const {
    return RunForJson(With({"edit", "--graph", graph_, "--out", edited_,
                            "--lms_optimizer_scopes", "opt"},
                           more));
  }

  // A node of the edited graph.
  Json Find(const std::string& name) const {
    const auto text = ReadFile(edited_);
    EXPECT_THAT(text, IsOk());
    const auto graph = ParseJson(*text, edited_);
    EXPECT_THAT(graph, IsOk());
    for (const Json& node : (*graph)["nodes"]) {
      if (node["name"] == name) return node;
    }
    return nullptr;
  }

  testing::TemporaryFolder folder_;
  const std::string graph_ = folder_.File("e1.json");
  const std::string edited_ = folder_.File("edited.json");
};

TEST_F(PlanOnlyEditTest, TheReportHasEveryField) {
  const Json edit = Edit({});
  EXPECT_EQ(edit["added_ops"], 6);
  EXPECT_EQ(edit["swap_tensors"], 3);
  EXPECT_EQ(edit["swap_outs"], 3);
  EXPECT_EQ(edit["swap_ins"], 3);
  EXPECT_EQ(edit["out_bytes"], 3 * 1024);
  EXPECT_EQ(edit["in_bytes"], 3 * 1024);
  EXPECT_EQ(edit["levels"], 12);
  EXPECT_GE(edit["edit_ms"], 0);
  EXPECT_EQ(edit["equivalent"], true);
  EXPECT_EQ(edit["dropped"],
            Json::array({{{"tensor", "net/F4:0"},
                          {"reason", "no trigger for opt/B4"}}}));
  EXPECT_EQ(edit["lms"]["mode"], "v1");
  EXPECT_EQ(edit["lms"]["optimizer_scopes"], Json::array({"opt"}));
}

TEST_F(PlanOnlyEditTest, TheEditedGraphIsTheOriginals) {
  Edit({"--lms_compat", "true", "--lms_lb", "2"});
  const Json out = Find("lms/swapout_net_F1_0");
  EXPECT_EQ(out["op"], "SwapOut");
  EXPECT_EQ(out["device"], "host");
  EXPECT_EQ(out["inputs"], Json::array({"net/F1:0"}));
  const Json in = Find("lms/swapin_net_F1_0");
  EXPECT_EQ(in["op"], "SwapIn");
  EXPECT_EQ(in["inputs"], Json::array({"lms/swapout_net_F1_0:0"}));
  EXPECT_EQ(in["control_inputs"], Json::array({"opt/B3"}));
  EXPECT_EQ(Find("opt/B1")["inputs"],
            Json::array({"opt/B2:0", "lms/swapin_net_F1_0:0"}));
  EXPECT_FALSE(Find("lms/swapin_net_F3_0").contains("control_inputs"));
}

TEST_F(PlanOnlyEditTest, EveryFlagOfVersionOneReachesTheOptions) {
  const Json lms = Edit({"--lms",
                         "v1",
                         "--lms_compat",
                         "true",
                         "--lms_size_threshold",
                         "1KiB",
                         "--lms_debug_level",
                         "2",
                         "--lms_starting_scope",
                         "net",
                         "--lms_starting_op_names",
                         "net/F1,net/F2",
                         "--lms_excl_scopes",
                         "net/F4",
                         "--lms_incl_scopes",
                         "net",
                         "--lms_excl_types",
                         "Conv2D",
                         "--lms_incl_types",
                         "Unknown,Other",
                         "--lms_n_tensors",
                         "2",
                         "--lms_lb",
                         "2",
                         "--lms_ub",
                         "9",
                         "--lms_ctrld_strategy",
                         "direct_order",
                         "--lms_fuse_swapins",
                         "true",
                         "--lms_swap_branches",
                         "true",
                         "--lms_branch_threshold",
                         "1"})["lms"];
  const Json expected = {{"mode", "v1"},
                         {"size_threshold", 1024},
                         {"compat", true},
                         {"debug_level", 2},
                         {"optimizer_scopes", {"opt"}},
                         {"starting_scope", "net"},
                         {"starting_op_names", {"net/F1", "net/F2"}},
                         {"excl_scopes", {"net/F4"}},
                         {"incl_scopes", {"net"}},
                         {"excl_types", {"Conv2D"}},
                         {"incl_types", {"Unknown", "Other"}},
                         {"n_tensors", 2},
                         {"lb", 2},
                         {"ub", 9},
                         {"ctrld_strategy", "direct_order"},
                         {"fuse_swapins", true},
                         {"swap_branches", true},
                         {"branch_threshold", 1}};
  EXPECT_EQ(lms, expected);
}

TEST_F(PlanOnlyEditTest, GraphvizTextShowsTheWayOfSwappedTensorsInColour) {
  const std::string dot = folder_.File("graph.dot");
  Edit({"--dot", dot});
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(dot));
  for (const char* expected :
       {"lms/swapout_net_F1_0\\nSwapOut\", style=filled, fillcolor=orange",
        "lms/swapin_net_F1_0\\nSwapIn\", style=filled, fillcolor=skyblue",
        "color=orange", "color=skyblue", "style=dashed"}) {
    EXPECT_THAT(text, HasSubstr(expected));
  }
}

// Twice the multiply-adds of mnist_deep's four layers, for one image.
TEST(InspectTest, CountsMatchTheNetwork) {
  const Json json =
      RunForJson({"inspect", "--model", "mnist_deep", "--batch_size", "1"});
  EXPECT_EQ(json["parameters"], 3'274'634);
  EXPECT_EQ(json["parameter_bytes"], 4 * 3'274'634);
  const double multiply_adds = 28.0 * 28 * 25 * 32 + 14.0 * 14 * 25 * 32 * 64 +
                               3136.0 * 1024 + 1024.0 * 10;
  EXPECT_GE(json["forward_flops"].get<double>(), 2 * multiply_adds);
  EXPECT_LE(json["forward_flops"].get<double>(), 2.05 * multiply_adds);
  EXPECT_GE(json["unconstrained_peak_bytes"], json["floor"]["bytes"]);
}

TEST(InspectTest, ForwardOnlyHasNoBackwardPhase) {
  const std::vector<std::string> model = {"inspect", "--model", "lenet"};
  const Json training = RunForJson(model);
  const Json forward = RunForJson(With(model, {"--forward_only"}));
  EXPECT_LT(forward["nodes"].get<int>(), training["nodes"].get<int>());
  EXPECT_LT(forward["unconstrained_peak_bytes"].get<int64_t>(),
            training["unconstrained_peak_bytes"].get<int64_t>());
  EXPECT_EQ(forward["parameters"], training["parameters"]);
}

TEST(SimulateTest, ABudgetThatIsTooSmallIsStillDescribed) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("result.json");
  const ProgramRun run = RunProgram(
      With({"simulate", "--device_memory", "1MiB", "--json", path}, kLenet));
  EXPECT_EQ(run.exit_status, 3);
  EXPECT_THAT(run.out, HasSubstr("fits         no"));
  EXPECT_THAT(run.err, HasSubstr("missing"));
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text, path));
  EXPECT_EQ(json["fits"], false);
  EXPECT_GT(json["peak_device_bytes"].get<int64_t>(), 1 << 20);
  EXPECT_THAT(json["reason"].get<std::string>(), HasSubstr("missing"));
  EXPECT_GT(json["floor"]["bytes"].get<int64_t>(), 1 << 20);
}

TEST(SimulateTest, AHostPoolThatIsTooSmallIsNamed) {
  EXPECT_EQ(RunProgram(With({"simulate", "--lms", "v1", "--host_memory", "1KB"},
                            kLenet))
                .exit_status,
            3);
  EXPECT_THAT(
      RunProgram(
          With({"simulate", "--lms", "v1", "--host_memory", "1KB"}, kLenet))
          .err,
      HasSubstr("host swap pool exhausted"));
}

TEST(ModelsTest, ListsTheZooWithItsPublishedCounts) {
  const Json json = RunForJson({"models"});
  ASSERT_GT(json["models"].size(), 3u);
  bool found = false;
  for (const Json& model : json["models"]) {
    EXPECT_GT(model["batch_size"].get<int>(), 0) << model["name"];
    if (model["name"] != "mnist_deep") continue;
    found = true;
    EXPECT_EQ(model["parameters"], 3'274'634);
    EXPECT_EQ(model["image_size"], 28);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace spillway
