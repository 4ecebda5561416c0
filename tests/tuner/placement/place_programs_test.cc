#include "tuner/placement/place_programs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "gmock/gmock.h"
#include "graph/builder/builder.h"
#include "models/layers/layers.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"
#include "tuner/placement/estimate.h"
#include "tuner/simulate.h"
#include "tuner/tuned_session.h"

namespace spillway {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

constexpr int64_t kPlacedBatch = 8;

// Most of its bytes are the weights of one dense layer, 512 x 1024, with
// momentum and a gradient.
struct PlacedNet {
  Graph graph;
  Tensor images;
  Tensor labels;
  Tensor loss;

  Program program() const { return {.graph = graph, .fetches = {loss}}; }
};

absl::StatusOr<PlacedNet> BuildPlacedNet(bool is_training) {
  GraphBuilder g(is_training ? "training" : "evaluation");
  PlacedNet net;
  net.images = g.Placeholder("images", DType::kFloat32, {kPlacedBatch, 512});
  net.labels = g.Placeholder("labels", DType::kInt32, {kPlacedBatch});
  const Tensor hidden = Relu(
      g.Scope("relu"), Dense(g.Scope("large"), net.images, {.units = 1024}));
  const Tensor small =
      Relu(g.Scope("relu2"), Dense(g.Scope("small"), hidden, {.units = 16}));
  const Tensor logits = Dense(g.Scope("logits"), small, {.units = 10});
  net.loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, net.labels);
  if (is_training) {
    Minimize(g.Scope("optimizer"), net.loss, Momentum{.learning_rate = 0.01});
  }
  SPILLWAY_ASSIGN_OR_RETURN(net.graph, std::move(g).Build());
  return net;
}

constexpr int64_t kWeightBytes = int64_t{512} * 1024 * 4;

StepOptions PlacedOnCpu(std::optional<int64_t> device_memory) {
  return {.device = "cpu",
          .threads = 1,
          .device_memory = device_memory,
          .algorithms = AlgorithmChoice::kFirst,
          .profile = "p100_pcie"};
}

TEST(EstimateTest, CountsInputsOutputsAndWorkspace) {
  GraphBuilder g("sum");
  const Tensor x = g.Placeholder("x", DType::kFloat32, {3, 5});
  const Tensor y = Add(g.Scope("add"), x, x);
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  const NodeId add = graph.value(y.id()).producer;
  // The input once, though two slots read it.
  EXPECT_EQ(EstimateBytes(graph, add, 7), 60 + 60 + 7);
}

TEST(EstimateTest, ANodeOfExactlyABudgetRunsOnTheHost) {
  constexpr int64_t kBytes = 1000;
  constexpr int64_t kMany = 1 << 20;
  EXPECT_FALSE(RunsOnDevice(kBytes, {kBytes - 1, kMany}));
  EXPECT_FALSE(RunsOnDevice(kBytes, {kBytes, kMany}));
  EXPECT_TRUE(RunsOnDevice(kBytes, {kBytes + 1, kMany}));
  EXPECT_FALSE(RunsOnDevice(kBytes, {kMany, kBytes}));
  EXPECT_TRUE(RunsOnDevice(kBytes, {kMany, kBytes + 1}));
}

// The update reads and writes weights, momentum and gradient: the most bytes of
// any node. It is on the device iff the budget is larger than that.
TEST(PlaceProgramsTest, TheEstimateDecidesAtItsByte) {
  ASSERT_OK_AND_ASSIGN(const PlacedNet net, BuildPlacedNet(true));
  int64_t most = 0;
  std::string largest;
  for (const Node& node : net.graph.nodes()) {
    const int64_t bytes = EstimateBytes(net.graph, node.id, 0);
    if (bytes <= most) continue;
    most = bytes;
    largest = node.name;
  }
  EXPECT_GE(most, 3 * kWeightBytes);
  for (const int64_t budget : {most, most + 1}) {
    Program program = net.program();
    ASSERT_OK_AND_ASSIGN(
        const PlacementReport report,
        PlaceProgram(PlaceMode::kEstimate, PlacedOnCpu(budget), program));
    if (budget == most) {
      EXPECT_THAT(report.nodes[0], Contains(largest));
      EXPECT_GE(report.variable_bytes, 2 * kWeightBytes);
    } else {
      EXPECT_THAT(report.nodes[0], Not(Contains(largest)));
    }
  }
}

// Without swaps and tuned, in less memory than any choice of swaps needs.
TEST(PlaceProgramsTest, TrainsBelowTheFloorBitwiseAsInWholeMemory) {
  ASSERT_OK_AND_ASSIGN(const PlacedNet net, BuildPlacedNet(true));
  const std::vector<float> images(kPlacedBatch * 512, 0.25F);
  const std::vector<int32_t> labels = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::string> checksums;
  std::vector<float> losses;
  for (const int64_t budget : {int64_t{64} << 20, 3 * kWeightBytes}) {
    const StepOptions options = PlacedOnCpu(budget);
    std::vector<Program> programs = {net.program()};
    if (budget < int64_t{64} << 20) {
      EXPECT_THAT(
          CreateTunedSession(programs, options),
          StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("")));
    }
    ASSERT_OK_AND_ASSIGN(const PlacementReport report,
                         PlacePrograms(PlaceMode::kAuto, options, programs));
    EXPECT_EQ(report.is_empty(), budget != 3 * kWeightBytes);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                         CreateTunedSession(std::move(programs), options));
    for (int step = 0; step < 3; ++step) {
      ASSERT_OK_AND_ASSIGN(
          const StepResult result,
          session->Step({{net.images, images}, {net.labels, labels}}));
      ASSERT_OK_AND_ASSIGN(const float loss, result.scalar(net.loss));
      losses.push_back(loss);
    }
    const MemoryUse memory = session->memory();
    EXPECT_LE(memory.measured_device_bytes, budget);
    EXPECT_EQ(memory.measured_device_bytes, memory.predicted_device_bytes);
    EXPECT_EQ(memory.measured_host_bytes, memory.predicted_host_bytes);
    ASSERT_OK_AND_ASSIGN(const auto variables, session->ReadVariables());
    checksums.push_back(Checksum(variables));
  }
  EXPECT_EQ(checksums[0], checksums[1]);
  EXPECT_EQ(losses[2], losses[5]);
}

// An evaluation reads the weights where training keeps them.
TEST(PlaceProgramsTest, AllProgramsAgreeOnVariables) {
  ASSERT_OK_AND_ASSIGN(const PlacedNet training, BuildPlacedNet(true));
  ASSERT_OK_AND_ASSIGN(const PlacedNet evaluation, BuildPlacedNet(false));
  std::vector<Program> programs = {training.program(), evaluation.program()};
  const StepOptions options = PlacedOnCpu(3 * kWeightBytes);
  ASSERT_OK_AND_ASSIGN(const PlacementReport report,
                       PlacePrograms(PlaceMode::kAuto, options, programs));
  EXPECT_THAT(report.variables, Contains(HasSubstr("large/")));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       CreateTunedSession(std::move(programs), options));
  EXPECT_LE(session->memory().predicted_device_bytes, 3 * kWeightBytes);
  const std::vector<float> images(kPlacedBatch * 512, 0.25F);
  const std::vector<int32_t> labels = {0, 1, 2, 3, 4, 5, 6, 7};
  float before = 0;
  for (const int program : {1, 0, 0, 0, 1}) {
    const PlacedNet& net = program == 0 ? training : evaluation;
    ASSERT_OK_AND_ASSIGN(
        const StepResult result,
        session->Step(program, {{net.images, images}, {net.labels, labels}}));
    ASSERT_OK_AND_ASSIGN(const float loss, result.scalar(net.loss));
    if (program == 1 && before == 0) {
      before = loss;
    } else if (program == 1) {
      EXPECT_LT(loss, before);
    }
  }
}

TEST(PlaceProgramsTest, WhatHasKernelsStaysWhenForced) {
  ASSERT_OK_AND_ASSIGN(const PlacedNet net, BuildPlacedNet(true));
  for (const PlaceMode mode : {PlaceMode::kOff, PlaceMode::kForce}) {
    Program program = net.program();
    ASSERT_OK_AND_ASSIGN(const PlacementReport report,
                         PlaceProgram(mode, PlacedOnCpu(1 << 20), program));
    EXPECT_TRUE(report.is_empty());
    EXPECT_EQ(program.graph.num_nodes(), net.graph.num_nodes());
  }
}

TEST(PlaceProgramsTest, AllUpdatesTakeAllTheirVariablesAlong) {
  ASSERT_OK_AND_ASSIGN(const PlacedNet net, BuildPlacedNet(true));
  Program program = net.program();
  ASSERT_OK_AND_ASSIGN(
      const PlacementReport report,
      PlaceProgram(PlaceMode::kUpdates, PlacedOnCpu(1 << 20), program));
  for (const Node& node : program.graph.nodes()) {
    if (node.op == "Variable" || node.op == "ApplyMomentum") {
      EXPECT_EQ(node.placement, Placement::kHost) << node.name;
    }
  }
  EXPECT_GE(report.variable_bytes, 2 * kWeightBytes);
}

// The images alone are larger than the budget, and they come to the device.
TEST(PlaceProgramsTest, SaysWhatCannotBePlaced) {
  ASSERT_OK_AND_ASSIGN(const PlacedNet net, BuildPlacedNet(true));
  Program program = net.program();
  EXPECT_THAT(PlaceProgram(PlaceMode::kAuto, PlacedOnCpu(1024), program),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("nothing more can run on the host")));
}

}  // namespace
}  // namespace spillway
