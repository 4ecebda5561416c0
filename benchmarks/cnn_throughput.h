// The measuring loop of tf_cnn_benchmarks: warm-up, timed steps on synthetic
// data, statistics of all timed steps so far, the total.
//
//   warm-up |<- clock of the total ----------------------->|  one more step,
//   w  w  w | t_1 | t_2 | ... | t_n                         |  traced
//
// A step's time is one Session::Step: feeding, running and returning the
// fetches. The total also includes the work between the steps: displaying them,
// and making fresh images. The traced step comes last, so that its timing
// events disturb no timed step, and after the checksum, which it would change.
// It also runs after an interrupted measurement.
#ifndef SPILLWAY_BENCHMARKS_CNN_THROUGHPUT_H_
#define SPILLWAY_BENCHMARKS_CNN_THROUGHPUT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "base/trace/timeline.h"
#include "benchmarks/synthetic_feeds.h"
#include "benchmarks/throughput_statistics.h"
#include "executor/session/session.h"

namespace spillway {

struct ThroughputStep {
  int64_t step = 0;  // 1 is the first timed one
  ThroughputStatistics statistics = {};
  double loss = 0;
  double top_1_accuracy = 0;  // 0 if it is not fetched
  double top_5_accuracy = 0;
};

struct ThroughputResult {
  // Ended by `stop`. During warm-up: there are no timed steps.
  bool interrupted = false;
  std::vector<double> step_seconds = {};  // timed steps
  std::vector<double> losses = {};        // of the timed steps
  ThroughputStep last = {};  // the last timed step as displayed, else zeros
  double total_images_per_second = 0;  // 0 without timed steps
  std::string checksum = {};           // of all variables after the timed steps
  Timeline traced_step = {};
  int64_t steps = 0;  // all, including warm-up
};

struct ThroughputSpec {
  int64_t batch_size = 0;
  // Fetches of program 0; invalid ones are not fetched, and shown as 0.
  ValueId loss = {};
  ValueId top_1_accuracy = {};
  ValueId top_5_accuracy = {};

  int64_t num_warmup_batches = 10;
  int64_t num_batches = 100;
  int64_t display_every = 10;
  std::optional<double> ewma_weight = {};
  bool fresh_images = false;  // another batch for every step

  // Called after each step but the last timed one. If it returns true, this
  // step becomes the last timed one, and ThroughputResult::interrupted is set.
  StopRequest stop = {};

  // Called when warm-up begins and ends.
  std::function<absl::Status()> on_warm_up = {};
  std::function<absl::Status()> on_warmed_up = {};
  // Called for step 1 and every multiple of display_every.
  std::function<absl::Status(const ThroughputStep&)> on_display = {};
  // Called after every step with the number of timed steps done.
  std::function<void(int64_t)> on_step = {};
  // Called after the last timed step, with everything but the traced step. The
  // session's variables are as that step left them.
  std::function<absl::Status(const ThroughputResult&)> on_timed = {};
};

// Runs program 0 of `session`. Errors: those of a step or a callback.
absl::StatusOr<ThroughputResult> MeasureThroughput(const ThroughputSpec& spec,
                                                   Session& session,
                                                   SyntheticFeeds& feeds);

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_CNN_THROUGHPUT_H_
