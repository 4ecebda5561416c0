#include "lms/tflms/search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/tflms/report.h"
#include "lms/v2/options.h"

namespace spillway {
namespace {

constexpr int64_t kTuned = -1;
constexpr int64_t kLastSyncMode = 3;

bool IsTuned(const LmsOptions& options) {
  if (options.v2.swapout_threshold != kTuned && SyncsSwapIns(options)) {
    return false;  // ahead and groupby are not used
  }
  return options.v2.swapout_threshold == kTuned ||
         options.v2.swapin_ahead == kTuned ||
         options.v2.swapin_groupby == kTuned;
}

// The least value of each number that is to be tuned.
TflmsSet LeastSet(const LmsOptions& options) {
  const auto value_or = [](int64_t value, int64_t least) {
    return value == kTuned ? least : value;
  };
  return {.swapout_threshold = value_or(options.v2.swapout_threshold, 1),
          .swapin_ahead = value_or(options.v2.swapin_ahead, 1),
          .swapin_groupby = value_or(options.v2.swapin_groupby, 0),
          .sync_mode = options.v2.sync_mode};
}

class Search {
 public:
  // Borrows its arguments.
  Search(const TflmsRequest& request, TflmsSimulator& simulator,
         const StopRequest& stop)
      : options_(request.options),
        simulator_(simulator),
        stop_(stop),
        num_levels_(simulator.num_levels()),
        set_(LeastSet(request.options)) {
    result_.tuned = IsTuned(options_);
    if (!result_.tuned) return;
    Append(DescribeTflmsSearch(simulator, request.batch_size));
  }

  TflmsResult Run() && {
    if (result_.tuned) {
      Tune();
    } else {
      TflmsTrial& trial = Play(set_);
      trial.accepted = trial.play.passed;
      result_.passed = trial.play.passed;
    }
    if (is_stopped_) {
      result_.status =
          absl::CancelledError("TFLMS's search was stopped before its end");
    }
    if (result_.status.ok()) Choose();
    return std::move(result_);
  }

 private:
  static constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

  bool tunes_threshold() const {
    return options_.v2.swapout_threshold == kTuned;
  }
  bool tunes_ahead() const { return options_.v2.swapin_ahead == kTuned; }
  bool tunes_groupby() const { return options_.v2.swapin_groupby == kTuned; }

  void Append(std::vector<LogLine> lines) {
    std::ranges::move(lines, std::back_inserter(result_.log));
  }

  TflmsTrial& Play(const TflmsSet& set) {
    result_.tried.push_back({.set = set, .play = simulator_.Play(set)});
    return result_.tried.back();
  }

  // Simulates the set, and chooses it if it passes. After a stop request,
  // nothing is simulated and nothing passes.
  bool Try(const TflmsSet& set, int64_t most_missing_triggers = kAny) {
    is_stopped_ =
        is_stopped_ || (!result_.tried.empty() && StopRequested(stop_));
    if (is_stopped_) return false;
    TflmsTrial& trial = Play(set);
    trial.accepted = trial.play.passed &&
                     trial.play.missing_triggers <= most_missing_triggers;
    if (!trial.accepted) return false;
    set_ = set;
    missing_triggers_ = trial.play.missing_triggers;
    Append({DescribeFoundSet(trial)});
    return true;
  }

  void Tune() {
    if (tunes_threshold() && tunes_ahead() && tunes_groupby() &&
        FitsWithoutSwaps()) {
      return;
    }
    result_.passed = FindSyncMode();
    if (is_stopped_) return;
    if (!result_.passed) {
      TakeWhatFails();
      return;
    }
    if (tunes_threshold()) Raise(&TflmsSet::swapout_threshold, kAny);
    if (set_.sync_mode >= 2) return;
    if (tunes_ahead()) {
      Raise(&TflmsSet::swapin_ahead,
            options_.compat ? kAny : missing_triggers_);
    }
    if (tunes_groupby()) FindGroupBy();
  }

  bool FitsWithoutSwaps() {
    TflmsSet none = set_;
    none.swapout_threshold = num_levels_;
    TflmsTrial& trial = Play(none);
    trial.accepted = trial.play.passed;
    if (!trial.accepted) return false;
    set_ = none;
    result_.necessary = false;
    result_.passed = true;
    return true;
  }

  bool FindSyncMode() {
    const bool only_one = options_.compat && !tunes_threshold();
    const int64_t last = only_one ? options_.v2.sync_mode : kLastSyncMode;
    for (int64_t mode = options_.v2.sync_mode; mode <= last; ++mode) {
      TflmsSet set = set_;
      set.sync_mode = mode;
      if (Try(set)) return true;
    }
    return false;
  }

  // Finds the highest value of a number; 1 passes.
  void Raise(int64_t TflmsSet::*number, int64_t most_missing_triggers) {
    int64_t low = 1;
    int64_t high = num_levels_;
    while (low <= high) {
      const int64_t middle = (low + high) / 2;
      TflmsSet set = set_;
      set.*number = middle;
      if (Try(set, most_missing_triggers)) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
  }

  // 0 passes, so a value is found.
  void FindGroupBy() {
    TflmsSet set = set_;
    set.swapin_groupby = num_levels_;
    int64_t high = num_levels_;
    while (!Try(set) && high >= 0) {
      set.swapin_groupby = high / 2;
      high = set.swapin_groupby - 1;
    }
  }

  // Chooses the options when no set passed.
  void TakeWhatFails() {
    const TflmsTrial& least = *std::ranges::min_element(
        result_.tried, {},
        [](const auto& trial) { return trial.play.peak_device_bytes; });
    if (tunes_threshold()) {
      result_.status = NothingPassed(least, simulator_);
    } else if (options_.compat) {
      set_.sync_mode = kLastSyncMode;
      result_.passed = Play(set_).play.passed;
    } else {
      set_ = least.set;
    }
  }

  void Choose() {
    result_.options = WithSet(options_, set_);
    if (!result_.necessary) result_.options.mode = LmsMode::kOff;
    Append(DescribeTflmsChoice(options_, result_, simulator_));
  }

  const LmsOptions& options_;
  TflmsSimulator& simulator_;
  const StopRequest& stop_;
  const int64_t num_levels_;
  TflmsSet set_;                  // the best set so far
  int64_t missing_triggers_ = 0;  // of set_
  bool is_stopped_ = false;
  TflmsResult result_;
};

}  // namespace

absl::StatusOr<TflmsResult> SearchTflms(const TflmsRequest& request,
                                        const Graph& graph,
                                        const StopRequest& stop) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckOptions(WithSet(request.options, LeastSet(request.options))));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<TflmsSimulator> simulator,
      TflmsSimulator::Create(request.options, request.limits, graph));
  return Search(request, *simulator, stop).Run();
}

}  // namespace spillway
