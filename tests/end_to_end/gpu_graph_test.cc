// Steps as CUDA graphs, on a fake GPU (fake_gpu.h) whose graphs run their work
// in any order that their edges allow (tests/support/fake_graph.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "ops/all_ops.h"
#include "tests/end_to_end/fake_gpu.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/host_tensor.h"
#include "tests/support/new_session.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using testing::FeedsOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::LeastCases;
using testing::MakeHostTensor;
using testing::MakeRandomNetwork;
using testing::NumCases;
using testing::RandomNetwork;
using testing::StatusIs;
using testing::TrainedModel;

constexpr int kSteps = 4;
constexpr uint64_t kSeeds = NumCases(8);
// Without AVX-512, networks have no bfloat16, and fewer dropouts that are worth
// a clone.
constexpr uint64_t kRecomputedSeeds = NumCases(12);

// y = Dropout(x), y fetched.
struct Noise {
  Graph graph;
  ValueId x;
  ValueId y;
};

Noise MakeNoise() {
  GraphBuilder g(StandardOps());
  const Tensor x = g.Placeholder("x", DType::kFloat32, {1000});
  const Tensor y =
      g.Add(g, {.op = "Dropout",
                .inputs = {x},
                .attributes = {{"rate", 0.5}, {"seed", int64_t{3}}}});
  absl::StatusOr<Graph> graph = std::move(g).Build();
  EXPECT_THAT(graph, IsOk());
  return {.graph = *std::move(graph), .x = x.id(), .y = y.id()};
}

// The fetched values of some steps, with other feeds in each step.
absl::StatusOr<std::vector<std::vector<std::byte>>> RunNoise(const Noise& noise,
                                                             Session& session,
                                                             int steps) {
  std::vector<std::vector<std::byte>> results;
  for (int step = 0; step < steps; ++step) {
    const std::vector<float> x(1000, static_cast<float>(step + 1));
    const std::map<ValueId, HostTensor> fed = {
        {noise.x, MakeHostTensor({.shape = {1000}}, x)}};
    SPILLWAY_ASSIGN_OR_RETURN(const StepResult result,
                              session.Step(FeedsOf(fed)));
    results.push_back(result.fetched.at(noise.y).bytes);
  }
  return results;
}

class GpuGraphTest : public testing::FakeGpuTest {
 protected:
  absl::StatusOr<TrainedModel> Train(const Graph& graph,
                                     const RandomNetwork& network,
                                     bool capture_steps) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const std::unique_ptr<Session> session,
        NewSession({.graph = graph, .fetches = {network.loss}}, capture_steps));
    return TrainSession(*session, graph, network.loss, SpecOf(network, kSteps));
  }

  // Trains with the steps captured as a CUDA graph; expects results bitwise
  // identical to `want`.
  void ExpectSameWhenCaptured(const Graph& graph, const RandomNetwork& network,
                              const TrainedModel& want) {
    const int captures = cuda_.calls("cudaStreamBeginCapture");
    const int launches = cuda_.calls("cudaGraphLaunch");
    ASSERT_OK_AND_ASSIGN(const TrainedModel run, Train(graph, network, true));
    EXPECT_EQ(cuda_.calls("cudaStreamBeginCapture"), captures + 1);
    EXPECT_EQ(cuda_.calls("cudaGraphLaunch"), launches + kSteps - 1);
    EXPECT_EQ(run.losses, want.losses);
    EXPECT_EQ(run.checksum, want.checksum);
    EXPECT_EQ(run.copies.swap_outs, want.copies.swap_outs);
    EXPECT_EQ(run.copies.swap_ins, want.copies.swap_ins);
    EXPECT_EQ(run.copies.out_bytes, want.copies.out_bytes);
    EXPECT_EQ(run.copies.in_bytes, want.copies.in_bytes);
    ExpectExactMemory(run);
    EXPECT_EQ(run.memory.driver_device_bytes, run.memory.measured_device_bytes);
  }
};

TEST_F(GpuGraphTest, CapturingAndSwappingChangeNoBit) {
  int64_t swap_outs = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(seed));
    ASSERT_OK_AND_ASSIGN(const TrainedModel kept,
                         Train(network.graph, network, false));
    ExpectSameWhenCaptured(network.graph, network, kept);
    for (const LmsMode mode : {LmsMode::kV1, LmsMode::kV2}) {
      Graph swapped = network.graph;
      ASSERT_OK_AND_ASSIGN(const LmsReport report,
                           ApplyLms({.mode = mode,
                                     .v2 = {.swapout_threshold = 1,
                                            .swapin_ahead = 1,
                                            .swapin_groupby = 0}},
                                    swapped));
      swap_outs += report.swap_outs;
      ASSERT_OK_AND_ASSIGN(const TrainedModel issued,
                           Train(swapped, network, false));
      EXPECT_EQ(issued.losses, kept.losses);
      EXPECT_EQ(issued.checksum, kept.checksum);
      ExpectSameWhenCaptured(swapped, network, issued);
    }
  }
  EXPECT_GT(swap_outs, LeastCases(100));
}

// In each step a clone of a dropout draws the mask of its original.
TEST_F(GpuGraphTest, CapturingAndRecomputingChangeNoBit) {
  int64_t dropouts = 0;
  int64_t norms = 0;
  for (uint64_t seed = 1; seed <= kRecomputedSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(seed));
    ASSERT_OK_AND_ASSIGN(const TrainedModel kept,
                         Train(network.graph, network, false));
    for (const RecomputePolicy policy :
         {RecomputePolicy::kCheap, RecomputePolicy::kSqrt}) {
      SCOPED_TRACE(RecomputePolicyName(policy));
      Graph edited = network.graph;
      ASSERT_THAT(ApplyLms({.recompute = {.policy = policy}}, edited), IsOk());
      for (const Node& node : edited.nodes()) {
        if (!IsCloneName(node.name)) continue;
        dropouts += node.op == "Dropout";
        norms += node.op == "BatchNormApply";
      }
      ExpectSameWhenCaptured(edited, network, kept);
    }
  }
  EXPECT_GT(dropouts, LeastCases(2));
  EXPECT_GT(norms, LeastCases(4));
}

TEST_F(GpuGraphTest, LossesAreThoseOfTheCpu) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(seed));
    ASSERT_OK_AND_ASSIGN(const TrainedModel on_gpu,
                         Train(network.graph, network, true));
    ASSERT_OK_AND_ASSIGN(
        const TrainedModel on_cpu,
        TrainGraph(network.graph, network.loss, SpecOf(network, kSteps)));
    ASSERT_EQ(on_gpu.losses.size(), on_cpu.losses.size());
    for (size_t i = 0; i < on_cpu.losses.size(); ++i) {
      const float expected = on_cpu.losses[i];
      EXPECT_NEAR(on_gpu.losses[i], expected, 0.02 * std::abs(expected) + 1e-3);
    }
  }
}

// A mask that was captured as a constant would repeat.
TEST_F(GpuGraphTest, EachStepHasItsFeedsAndItsMask) {
  const Noise noise = MakeNoise();
  const Program program = {.graph = noise.graph, .fetches = {noise.y}};
  ASSERT_OK_AND_ASSIGN(const auto captured,
                       NewSession(program, /*capture_steps=*/true));
  ASSERT_OK_AND_ASSIGN(
      const auto on_cpu,
      testing::NewSession(program, {.device = "inline", .seed = 5}));
  ASSERT_OK_AND_ASSIGN(const auto results, RunNoise(noise, *captured, 6));
  ASSERT_OK_AND_ASSIGN(const auto want, RunNoise(noise, *on_cpu, 6));
  EXPECT_EQ(results, want);
  std::set<std::vector<bool>> masks;
  for (const std::vector<std::byte>& result : results) {
    std::vector<bool> mask;
    for (size_t i = 0; i < result.size(); i += sizeof(float)) {
      mask.push_back(result[i + 3] != std::byte{0});
    }
    masks.insert(mask);
  }
  EXPECT_EQ(masks.size(), 6u);
}

// A copy from pageable memory would block.
TEST_F(GpuGraphTest, FeedsAreCopiedFromPinnedMemory) {
  const Noise noise = MakeNoise();
  for (const bool capture_steps : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto session, NewSession({.graph = noise.graph,
                                                         .fetches = {noise.y}},
                                                        capture_steps));
    ASSERT_THAT(RunNoise(noise, *session, 3), IsOk());
    EXPECT_EQ(cuda_.pageable_copies_to_device(), 0);
    // 4000 bytes of x, and the step's number; 256-byte aligned.
    EXPECT_EQ(session->memory().staging_bytes, 4096 + 256);
    EXPECT_EQ(session->memory().measured_host_bytes, 0);
  }
}

// The same as from the caller's memory, which may have changed by then.
TEST_F(GpuGraphTest, FeedsAreMadeInTheSessionsMemory) {
  const Noise noise = MakeNoise();
  const Program program = {.graph = noise.graph, .fetches = {noise.y}};
  for (const bool capture_steps : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto session,
                         NewSession(program, capture_steps));
    ASSERT_OK_AND_ASSIGN(const auto other, NewSession(program, capture_steps));
    auto* x = reinterpret_cast<float*>(session->FeedBuffer(0, noise.x));
    ASSERT_NE(x, nullptr);
    EXPECT_EQ(session->FeedBuffer(0, noise.y), nullptr);
    ASSERT_OK_AND_ASSIGN(const auto want, RunNoise(noise, *other, 4));
    for (int step = 0; step < 4; ++step) {
      std::fill_n(x, 1000, static_cast<float>(step + 1));
      ASSERT_OK_AND_ASSIGN(
          const StepResult result,
          session->Step(
              {{noise.x, TensorView{.type = {.shape = {1000}}, .data = x}}}));
      EXPECT_EQ(result.fetched.at(noise.y).bytes,
                want[static_cast<size_t>(step)]);
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto on_cpu,
                       testing::NewSession(program, {.device = "inline"}));
  EXPECT_EQ(on_cpu->FeedBuffer(0, noise.x), nullptr);
}

TEST_F(GpuGraphTest, ALargeFeedIsCopiedWhole) {
  constexpr int64_t kBytes = (int64_t{13} << 20) + 7;
  GraphBuilder g(StandardOps());
  const Tensor x = g.Placeholder("x", DType::kUInt8, {kBytes});
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       NewSession({.graph = graph, .fetches = {x.id()}}, true));
  HostTensor fed = {.type = {.dtype = DType::kUInt8, .shape = {kBytes}}};
  for (int64_t i = 0; i < kBytes; ++i) {
    fed.bytes.push_back(static_cast<std::byte>(i % 251));
  }
  ASSERT_OK_AND_ASSIGN(
      const StepResult result,
      session->Step(FeedsOf(std::map<ValueId, HostTensor>{{x.id(), fed}})));
  EXPECT_TRUE(result.fetched.at(x.id()).bytes == fed.bytes);
}

TEST_F(GpuGraphTest, AStepWithATimelineIsIssued) {
  const Noise noise = MakeNoise();
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      NewSession({.graph = noise.graph, .fetches = {noise.y}}, true));
  const std::vector<float> ones(1000, 1);
  const std::map<ValueId, HostTensor> fed = {
      {noise.x, MakeHostTensor({.shape = {1000}}, ones)}};
  for (int step = 0; step < 8; ++step) {
    Timeline timeline;
    const bool timed = step % 3 == 2;
    ASSERT_THAT(session->Step(0, FeedsOf(fed), timed ? &timeline : nullptr),
                IsOk());
    EXPECT_EQ(timeline.spans.empty(), !timed);
  }
  EXPECT_EQ(cuda_.calls("cudaGraphLaunch"), 5);  // neither 0, nor 2 and 5
}

// A failure during capture or launch names the call, and the step can be run
// again as if it had not happened.
TEST_F(GpuGraphTest, AFailedCallIsNamedAndLeavesTheSessionUsable) {
  const Noise noise = MakeNoise();
  const Program program = {.graph = noise.graph, .fetches = {noise.y}};
  ASSERT_OK_AND_ASSIGN(const auto undisturbed, NewSession(program, false));
  ASSERT_OK_AND_ASSIGN(const auto want, RunNoise(noise, *undisturbed, 3));
  for (const std::string call :
       {"cudaStreamBeginCapture", "cudaEventRecord", "cudaStreamWaitEvent",
        "cudaMemcpyAsync", "cudaStreamEndCapture", "cudaGraphInstantiate",
        "cudaGraphLaunch"}) {
    SCOPED_TRACE(call);
    ASSERT_OK_AND_ASSIGN(const auto session, NewSession(program, true));
    const std::vector<float> x(1000, 1);
    const std::map<ValueId, HostTensor> fed = {
        {noise.x, MakeHostTensor({.shape = {1000}}, x)}};
    ASSERT_THAT(session->Step(FeedsOf(fed)), IsOk());
    cuda_.Fail(call, 719);
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(session->Step(FeedsOf(fed)),
                  StatusIs(absl::StatusCode::kInternal,
                           AllOf(HasSubstr(call), HasSubstr("719"))));
    }
    cuda_.Fail(call, 0);
    const std::vector<float> twos(1000, 2);
    const std::map<ValueId, HostTensor> next = {
        {noise.x, MakeHostTensor({.shape = {1000}}, twos)}};
    ASSERT_OK_AND_ASSIGN(const StepResult second, session->Step(FeedsOf(next)));
    EXPECT_EQ(second.fetched.at(noise.y).bytes, want[1]);
  }
}

TEST_F(GpuGraphTest, AKernelThatFailsWhenCapturedIsNamed) {
  ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(1));
  const auto train = [&](bool fails) -> absl::StatusOr<TrainedModel> {
    SPILLWAY_ASSIGN_OR_RETURN(
        const auto session,
        NewSession({.graph = network.graph, .fetches = {network.loss}}, true));
    SPILLWAY_ASSIGN_OR_RETURN(
        TrainedModel result, TrainSession(*session, network.graph, network.loss,
                                          SpecOf(network, 1)));
    if (fails) {
      SPILLWAY_ASSIGN_OR_RETURN(const auto before, session->ReadVariables());
      testing::planted_kernel_error = absl::InternalError("planted");
      const auto failed = TrainSession(*session, network.graph, network.loss,
                                       SpecOf(network, 1));
      testing::planted_kernel_error = absl::OkStatus();
      EXPECT_THAT(failed,
                  StatusIs(absl::StatusCode::kInternal, EndsWith(": planted")));
      const std::string text(failed.status().message());
      EXPECT_TRUE(network.graph.FindNode(text.substr(0, text.find(':'))));
      // It is unknown which variables were updated.
      EXPECT_THAT(
          session->ReadVariables(),
          StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(text)));
      EXPECT_THAT(session->WriteVariables(before), IsOk());
    }
    return TrainSession(*session, network.graph, network.loss,
                        SpecOf(network, 2));
  };
  ASSERT_OK_AND_ASSIGN(const TrainedModel undisturbed, train(false));
  ASSERT_OK_AND_ASSIGN(const TrainedModel run, train(true));
  EXPECT_EQ(run.losses, undisturbed.losses);
  EXPECT_EQ(run.checksum, undisturbed.checksum);
}

TEST_F(GpuGraphTest, OtherDevicesHaveNone) {
  const Noise noise = MakeNoise();
  for (const std::string device : {"cpu", "inline"}) {
    EXPECT_THAT(
        testing::NewSession({.graph = noise.graph, .fetches = {noise.y}},
                            {.device = device, .capture_steps = true}),
        StatusIs(absl::StatusCode::kUnimplemented,
                 "the " + device + " device has no graphs"));
  }
}

}  // namespace
}  // namespace spillway
