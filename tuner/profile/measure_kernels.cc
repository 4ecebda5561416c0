#include "tuner/profile/measure_kernels.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "executor/plan/plan.h"
#include "simulator/node_signature.h"
#include "spdlog/spdlog.h"
#include "tuner/profile/plausible_profile.h"

namespace spillway {
namespace {

using Clock = std::chrono::steady_clock;

struct StepSample {
  Timeline timeline = {};  // empty: not taken
  int64_t step_ns = 0;
};

constexpr int64_t kInARow = 5;

// Runs the steps of one measurement and reports progress.
class StepRunner {
 public:
  StepRunner(const KernelMeasurement& spec, const Feeds& feeds,
             Session& session)
      : spec_(spec), feeds_(feeds), session_(session) {
    Tell();
  }

  absl::StatusOr<StepSample> Run(bool has_timeline) {
    SPILLWAY_RETURN_IF_ERROR(CheckStop(spec_.stop));
    StepSample step;
    Timeline* timeline = has_timeline ? &step.timeline : nullptr;
    const Clock::time_point begin = Clock::now();
    SPILLWAY_RETURN_IF_ERROR(session_.Step(0, feeds_, timeline).status());
    const std::chrono::nanoseconds taken = Clock::now() - begin;
    step.step_ns = taken.count();
    ++done_;
    Tell();
    return step;
  }

  // Appends this many steps after an uncounted one, which undoes what the other
  // kind of step left in the caches.
  absl::Status AddSteps(int64_t count, bool has_timeline,
                        std::vector<StepSample>& steps) {
    SPILLWAY_RETURN_IF_ERROR(Run(has_timeline).status());
    for (int64_t i = 0; i < count; ++i) {
      SPILLWAY_ASSIGN_OR_RETURN(StepSample step, Run(has_timeline));
      steps.push_back(std::move(step));
    }
    return absl::OkStatus();
  }

 private:
  void Tell() const {
    if (!spec_.on_progress) return;
    const int64_t rows = (spec_.steps + kInARow - 1) / kInARow;
    spec_.on_progress(spec_.part, done_,
                      spec_.warmup_steps + 2 * (spec_.steps + rows));
  }

  const KernelMeasurement& spec_;
  const Feeds& feeds_;
  Session& session_;
  int64_t done_ = 0;
};

// Sorts by length; keeps at least one step.
void KeepMiddleHalf(std::vector<StepSample>& steps) {
  std::ranges::sort(steps, {}, &StepSample::step_ns);
  const size_t quarter = (steps.size() - 1) / 4;
  steps.erase(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(quarter));
  steps.resize(steps.size() - quarter);
}

class Mean {
 public:
  void Add(int64_t value) {
    sum_ += static_cast<double>(value);
    ++count_;
  }
  double value() const {
    return sum_ / static_cast<double>(std::max<int64_t>(1, count_));
  }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

// Averages of the steps with a timeline.
struct KernelTimes {
  std::map<std::string, Mean, std::less<>> by_signature = {};
  Mean kernels = {};  // all kernels of a step
  Mean others = {};   // the rest of its timeline: before the first kernel
};

// Adds the time of each kernel, from the end of the previous one: without
// swaps, only the first kernel waits, for the copies of the feeds.
void AddKernels(const Graph& graph, const Timeline& timeline,
                KernelTimes& times) {
  constexpr auto kComputeTrack = static_cast<int32_t>(Lane::kCompute);
  int64_t fed_ns = 0;
  for (const Span& span : timeline.spans) {
    if (span.track != kComputeTrack) fed_ns = std::max(fed_ns, span.end_ns);
  }
  int64_t kernels_ns = 0;
  int64_t free_ns = -1;  // end of the previous kernel
  for (const Span& span : timeline.spans) {
    if (span.track != kComputeTrack) continue;
    const int64_t begin_ns = free_ns >= fed_ns ? free_ns : span.begin_ns;
    const std::optional<NodeId> node = graph.FindNode(span.name);
    SPILLWAY_CHECK(node.has_value());
    times.by_signature[NodeSignature(graph, graph.node(*node))].Add(
        span.end_ns - begin_ns);
    kernels_ns += span.end_ns - begin_ns;
    free_ns = span.end_ns;
  }
  times.kernels.Add(kernels_ns);
  times.others.Add(std::max<int64_t>(0, TotalNs(timeline) - kernels_ns));
}

// `feeds`, each copied to the session's buffer for it, if there is one. Errors:
// as Feed::Check.
absl::StatusOr<Feeds> CopyToFeedBuffers(const Graph& graph, const Feeds& feeds,
                                        Session& session) {
  Feeds copied = feeds;
  for (auto& [placeholder, feed] : copied) {
    std::byte* buffer = session.FeedBuffer(0, placeholder);
    if (buffer == nullptr) continue;
    const TensorType& type = graph.type(placeholder);
    SPILLWAY_RETURN_IF_ERROR(feed.Check(type));
    std::memcpy(buffer, feed.data(), static_cast<size_t>(type.num_bytes()));
    feed = Feed(type, buffer);
  }
  return copied;
}

struct MeasuredSteps {
  std::vector<StepSample> plain = {};
  std::vector<StepSample> with_timeline = {};
};

absl::StatusOr<MeasuredSteps> RunSteps(const KernelMeasurement& spec,
                                       const Feeds& feeds, Session& session) {
  StepRunner runner(spec, feeds, session);
  for (int64_t i = 0; i < spec.warmup_steps; ++i) {
    SPILLWAY_RETURN_IF_ERROR(runner.Run(false).status());
  }
  MeasuredSteps steps;
  for (int64_t left = spec.steps; left > 0; left -= kInARow) {
    const int64_t count = std::min(left, kInARow);
    SPILLWAY_RETURN_IF_ERROR(runner.AddSteps(count, false, steps.plain));
    SPILLWAY_RETURN_IF_ERROR(runner.AddSteps(count, true, steps.with_timeline));
  }
  KeepMiddleHalf(steps.plain);
  KeepMiddleHalf(steps.with_timeline);
  return steps;
}

struct StepTimes {
  KernelTimes kernels = {};
  double step_ns = 0;  // without a timeline
};

StepTimes AverageSteps(const Graph& graph, const MeasuredSteps& steps) {
  StepTimes times;
  for (const StepSample& step : steps.with_timeline) {
    AddKernels(graph, step.timeline, times.kernels);
  }
  Mean plain;
  for (const StepSample& step : steps.plain) plain.Add(step.step_ns);
  times.step_ns = plain.value();
  return times;
}

KernelScaleInputs ScaleInputs(const KernelMeasurement& spec,
                              const StepTimes& times) {
  return {.step_ns = times.step_ns,
          .others_ns = times.kernels.others.value(),
          .call_ns = static_cast<double>(spec.call_ns),
          .kernels_ns = times.kernels.kernels.value()};
}

// Repeats while the two kinds of step contradict each other.
absl::StatusOr<StepTimes> TimeSteps(const KernelMeasurement& spec,
                                    const Graph& graph, const Feeds& feeds,
                                    Session& session) {
  StepTimes times;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    SPILLWAY_ASSIGN_OR_RETURN(const MeasuredSteps steps,
                              RunSteps(spec, feeds, session));
    times = AverageSteps(graph, steps);
    if (KernelScale(ScaleInputs(spec, times))) return times;
  }
  spdlog::warn(
      "steps with and without a timeline differ too much to compare, as if "
      "other programs ran; the times of kernels are inexact");
  return times;
}

}  // namespace

absl::StatusOr<MeasuredKernels> MeasureKernels(const KernelMeasurement& spec,
                                               const Graph& graph,
                                               const Feeds& feeds,
                                               Session& session) {
  SPILLWAY_CHECK(spec.steps > 0);
  SPILLWAY_ASSIGN_OR_RETURN(const Feeds in_place,
                            CopyToFeedBuffers(graph, feeds, session));
  SPILLWAY_ASSIGN_OR_RETURN(const StepTimes times,
                            TimeSteps(spec, graph, in_place, session));
  const double scale = ClampedKernelScale(ScaleInputs(spec, times));
  MeasuredKernels measured = {.step_ns = std::llround(times.step_ns)};
  for (const auto& [signature, mean] : times.kernels.by_signature) {
    measured.kernel_ns[signature] =
        std::max<int64_t>(1, std::llround(scale * mean.value()));
  }
  return measured;
}

}  // namespace spillway
