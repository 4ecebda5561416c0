// Tuning with the C++ API and with the program gives the same plan, byte for
// byte.
#include <string>
#include <utility>

#include "base/file.h"
#include "graph/builder/builder.h"
#include "graph/format/json_format.h"
#include "models/layers/layers.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "training/optimizer.h"
#include "tuner/simulate.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

using testing::IsOk;
using testing::ProgramRun;
using testing::RunProgram;

TEST(SamePlanTest, TheApiAndTheProgramSaveTheSameBytes) {
  GraphBuilder g("small");
  const Tensor images =
      g.Placeholder("images", DType::kFloat32, {32, 28, 28, 1});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {32});
  Tensor x = images;
  for (const char* layer : {"conv1", "conv2", "conv3"}) {
    x = Conv2D(g.Scope(layer), x, {.filters = 16, .kernel = {3, 3}});
    x = Relu(g.Scope(layer), x);
  }
  const Tensor logits =
      Dense(g.Scope("fc"), Flatten(g.Scope("flat"), x), {.units = 10});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("optimizer"), loss, Sgd{});
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  const Program program = {.graph = graph, .fetches = {loss}};
  StepOptions options = {.device = "cpu", .threads = 1, .profile = "p100_pcie"};
  ASSERT_OK_AND_ASSIGN(const StepPrediction unswapped,
                       Simulate(program, options));
  options.device_memory = unswapped.smallest_device_bytes * 7 / 10;
  ASSERT_OK_AND_ASSIGN(const TuneResult tuned, Tune(program, options));
  EXPECT_TRUE(tuned.step.is_necessary);

  const testing::TemporaryFolder folder;
  ASSERT_THAT(SavePlan(tuned, graph, folder.File("api.json")), IsOk());
  ASSERT_THAT(
      WriteFileAtomically(folder.File("graph.json"), FormatGraph(graph)),
      IsOk());
  const ProgramRun run = RunProgram(
      {"tune", "--graph", folder.File("graph.json"), "--fetch",
       graph.ValueName(loss), "--device", "cpu", "--threads", "1",
       "--device_memory", std::to_string(*options.device_memory), "--profile",
       "p100_pcie", "--out", folder.File("program.json")});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  ASSERT_OK_AND_ASSIGN(const std::string api,
                       ReadFile(folder.File("api.json")));
  ASSERT_OK_AND_ASSIGN(const std::string by_program,
                       ReadFile(folder.File("program.json")));
  EXPECT_EQ(api, by_program);
}

}  // namespace
}  // namespace spillway
