#include "benchmarks/cnn_throughput.h"

#include <chrono>
#include <utility>

#include "base/status_macros.h"

namespace spillway {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::StatusOr<double> ScalarOrZero(const StepResult& step, ValueId id) {
  return id.is_valid() ? step.scalar(id) : 0.0F;
}

class ThroughputLoop {
 public:
  ThroughputLoop(const ThroughputSpec& spec, Session& session,
                 SyntheticFeeds& feeds)
      : spec_(spec), session_(session), feeds_(feeds) {}

  absl::StatusOr<ThroughputResult> Run() {
    SPILLWAY_RETURN_IF_ERROR(WarmUp());
    const Clock::time_point start = Clock::now();
    for (int64_t step = 1; step <= spec_.num_batches && !result_.interrupted;
         ++step) {
      SPILLWAY_RETURN_IF_ERROR(TimedStep(step));
    }
    const auto images = static_cast<double>(result_.step_seconds.size()) *
                        static_cast<double>(spec_.batch_size);
    result_.total_images_per_second = images / SecondsSince(start);
    SPILLWAY_ASSIGN_OR_RETURN(const auto variables, session_.ReadVariables());
    result_.checksum = Checksum(variables);
    if (spec_.on_timed) SPILLWAY_RETURN_IF_ERROR(spec_.on_timed(result_));
    SPILLWAY_RETURN_IF_ERROR(Step(&result_.traced_step).status());
    return std::move(result_);
  }

 private:
  absl::Status WarmUp() {
    if (spec_.on_warm_up) SPILLWAY_RETURN_IF_ERROR(spec_.on_warm_up());
    for (int64_t i = 0; i < spec_.num_warmup_batches; ++i) {
      SPILLWAY_RETURN_IF_ERROR(Step(nullptr).status());
      if (spec_.on_step) spec_.on_step(0);
      result_.interrupted = StopRequested(spec_.stop);
      if (result_.interrupted) return absl::OkStatus();
    }
    return spec_.on_warmed_up ? spec_.on_warmed_up() : absl::OkStatus();
  }

  absl::Status TimedStep(int64_t number) {
    SPILLWAY_ASSIGN_OR_RETURN(const StepResult fetched, Step(nullptr));
    result_.step_seconds.push_back(step_seconds_);
    SPILLWAY_ASSIGN_OR_RETURN(const double loss,
                              ScalarOrZero(fetched, spec_.loss));
    result_.losses.push_back(loss);
    if (spec_.on_step) spec_.on_step(number);
    const bool is_last = number == spec_.num_batches;
    result_.interrupted = !is_last && StopRequested(spec_.stop);
    const bool is_shown = number == 1 || number % spec_.display_every == 0;
    if (!is_shown && !is_last && !result_.interrupted) return absl::OkStatus();
    SPILLWAY_ASSIGN_OR_RETURN(const double top_1,
                              ScalarOrZero(fetched, spec_.top_1_accuracy));
    SPILLWAY_ASSIGN_OR_RETURN(const double top_5,
                              ScalarOrZero(fetched, spec_.top_5_accuracy));
    result_.last = {
        .step = number,
        .statistics = SummarizeThroughput(
            spec_.batch_size, result_.step_seconds, spec_.ewma_weight),
        .loss = loss,
        .top_1_accuracy = top_1,
        .top_5_accuracy = top_5};
    if (!is_shown || !spec_.on_display) return absl::OkStatus();
    return spec_.on_display(result_.last);
  }

  // One step of any kind; sets step_seconds_ to its time.
  absl::StatusOr<StepResult> Step(Timeline* timeline) {
    if (spec_.fresh_images && result_.steps > 0) {
      feeds_.Generate(result_.steps);
    }
    const Feeds feeds = feeds_.feeds();
    const Clock::time_point start = Clock::now();
    SPILLWAY_ASSIGN_OR_RETURN(StepResult fetched,
                              session_.Step(0, feeds, timeline));
    step_seconds_ = SecondsSince(start);
    ++result_.steps;
    return fetched;
  }

  const ThroughputSpec& spec_;
  Session& session_;
  SyntheticFeeds& feeds_;
  ThroughputResult result_ = {};
  double step_seconds_ = 0;
};

}  // namespace

absl::StatusOr<ThroughputResult> MeasureThroughput(const ThroughputSpec& spec,
                                                   Session& session,
                                                   SyntheticFeeds& feeds) {
  return ThroughputLoop(spec, session, feeds).Run();
}

}  // namespace spillway
