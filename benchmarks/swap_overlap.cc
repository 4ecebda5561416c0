// How much of the swapping compute hides: one training step of a chain of
// convolutions with every activation swapped, on the cpu device (copies overlap
// compute) and on the inline device (everything in turn), over a link so slow
// that a copy takes as long as one convolution.
//
// Prints step times of alternating runs and their ratio:
//   swap_overlap [RESULT.json]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "lms/lms.h"
#include "models/layers/layers.h"
#include "nlohmann/json.hpp"
#include "ops/all_ops.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

constexpr int kLayers = 12;
constexpr int64_t kBatch = 16;
constexpr int64_t kSize = 32;
constexpr int64_t kChannels = 64;
constexpr int kRounds = 7;

struct Chain {
  Graph graph;
  ValueId images;
  ValueId labels;
  ValueId loss;
};

absl::StatusOr<Chain> BuildChain(bool swapped) {
  GraphBuilder g(StandardOps());
  const Tensor images = g.Placeholder("images", DType::kFloat32,
                                      {kBatch, kSize, kSize, kChannels});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {kBatch});
  Tensor x = images;
  for (int i = 0; i < kLayers; ++i) {
    x = Conv2D(g.Scope(fmt::format("conv{}", i + 1)), x,
               {.filters = kChannels,
                .kernel = {3, 3},
                .activation = Activation::kRelu});
  }
  x = GlobalAveragePool(g.Scope("pool"), x);
  const Tensor logits = Dense(g.Scope("fc"), x, {.units = 10});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("sgd_optimizer"), loss, Sgd{});
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  if (swapped) {
    SPILLWAY_RETURN_IF_ERROR(ApplyLms({.mode = LmsMode::kV1}, graph).status());
  }
  return Chain{std::move(graph), images.id(), labels.id(), loss.id()};
}

class Runner {
 public:
  static absl::StatusOr<Runner> Create(const std::string& device, bool swapped,
                                       double link_gbps) {
    SPILLWAY_ASSIGN_OR_RETURN(Chain chain, BuildChain(swapped));
    SPILLWAY_ASSIGN_OR_RETURN(
        auto new_device,
        NewDevice(device, {.link_gigabytes_per_second = link_gbps}));
    Runner runner;
    runner.images_ = chain.images;
    runner.labels_ = chain.labels;
    std::vector<Program> programs;
    programs.push_back({std::move(chain.graph), {chain.loss}});
    SPILLWAY_ASSIGN_OR_RETURN(
        runner.session_,
        Session::Create(
            std::move(programs), std::move(new_device),
            {.ops = &StandardOps(), .kernels = &StandardKernels()}));
    return runner;
  }

  absl::StatusOr<double> StepMilliseconds(Timeline* timeline = nullptr) {
    const std::vector<float> images(kBatch * kSize * kSize * kChannels, 0.5F);
    const std::vector<int32_t> labels(kBatch, 1);
    const Feeds feeds = {{images_, images}, {labels_, labels}};
    const auto start = std::chrono::steady_clock::now();
    SPILLWAY_RETURN_IF_ERROR(session_->Step(0, feeds, timeline).status());
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  }

  const CopyCounts& copies() const { return *session_->copies(0); }

 private:
  std::unique_ptr<Session> session_;
  ValueId images_;
  ValueId labels_;
};

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The rate at which one activation takes as long as one forward convolution.
absl::StatusOr<double> MatchingLinkRate() {
  SPILLWAY_ASSIGN_OR_RETURN(Runner runner, Runner::Create("inline", false, 0));
  SPILLWAY_RETURN_IF_ERROR(runner.StepMilliseconds().status());
  Timeline timeline;
  SPILLWAY_RETURN_IF_ERROR(runner.StepMilliseconds(&timeline).status());
  std::vector<double> convolutions;
  for (const Span& span : timeline.spans) {
    if (span.category == "Conv2D") {
      convolutions.push_back(static_cast<double>(span.end_ns - span.begin_ns));
    }
  }
  const double bytes = kBatch * kSize * kSize * kChannels * sizeof(float);
  return bytes / Median(convolutions);  // bytes per nanosecond: GB/s
}

struct Result {
  double link_gbps = 0;
  int64_t swap_outs = 0;  // per step
  int64_t swap_ins = 0;
  double kept_ms = 0;  // median step times
  double beside_ms = 0;
  double in_turn_ms = 0;
};

absl::StatusOr<Result> Measure() {
  SPILLWAY_ASSIGN_OR_RETURN(const double rate, MatchingLinkRate());
  SPILLWAY_ASSIGN_OR_RETURN(Runner kept, Runner::Create("cpu", false, rate));
  SPILLWAY_ASSIGN_OR_RETURN(Runner beside, Runner::Create("cpu", true, rate));
  SPILLWAY_ASSIGN_OR_RETURN(Runner in_turn,
                            Runner::Create("inline", true, rate));
  std::vector<double> kept_ms;
  std::vector<double> beside_ms;
  std::vector<double> in_turn_ms;
  for (int round = 0; round <= kRounds; ++round) {
    SPILLWAY_ASSIGN_OR_RETURN(const double a, kept.StepMilliseconds());
    SPILLWAY_ASSIGN_OR_RETURN(const double b, beside.StepMilliseconds());
    SPILLWAY_ASSIGN_OR_RETURN(const double c, in_turn.StepMilliseconds());
    if (round == 0) continue;  // warm-up
    kept_ms.push_back(a);
    beside_ms.push_back(b);
    in_turn_ms.push_back(c);
  }
  return Result{.link_gbps = rate,
                .swap_outs = beside.copies().swap_outs / (kRounds + 1),
                .swap_ins = beside.copies().swap_ins / (kRounds + 1),
                .kept_ms = Median(kept_ms),
                .beside_ms = Median(beside_ms),
                .in_turn_ms = Median(in_turn_ms)};
}

void Print(const Result& result) {
  fmt::print("link {:.2f} GB/s; {} swap-outs and {} swap-ins a step\n",
             result.link_gbps, result.swap_outs, result.swap_ins);
  fmt::print("without swapping     {:8.1f} ms a step\n", result.kept_ms);
  fmt::print("copies during compute{:8.1f} ms a step\n", result.beside_ms);
  fmt::print("copies in turn       {:8.1f} ms a step\n", result.in_turn_ms);
  fmt::print("in turn / during     {:8.2f}\n",
             result.in_turn_ms / result.beside_ms);
}

std::string ToJson(const Result& result) {
  return FormatJson(
      {{"benchmark", "swap_overlap"},
       {"layers", kLayers},
       {"rounds", kRounds},
       {"threads", ResolveThreads(0)},
       {"link_gbps", result.link_gbps},
       {"swap_outs", result.swap_outs},
       {"swap_ins", result.swap_ins},
       {"without_swapping_ms", result.kept_ms},
       {"beside_compute_ms", result.beside_ms},
       {"in_turn_ms", result.in_turn_ms},
       {"in_turn_over_beside", result.in_turn_ms / result.beside_ms}});
}

absl::Status Run(int argc, char** argv) {
  SPILLWAY_ASSIGN_OR_RETURN(const Result result, Measure());
  Print(result);
  if (argc < 2) return absl::OkStatus();
  return WriteFileAtomically(argv[1], ToJson(result));
}

}  // namespace
}  // namespace spillway

int main(int argc, char** argv) {
  const absl::Status status = spillway::Run(argc, argv);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
