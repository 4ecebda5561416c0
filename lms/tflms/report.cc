#include "lms/tflms/report.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/v2/report.h"

namespace spillway {
namespace {

std::string TextOf(const TflmsSet& set) {
  return fmt::format(
      "swapout_threshold {}, swapin_ahead {}, swapin_groupby {}, sync_mode {}",
      set.swapout_threshold, set.swapin_ahead, set.swapin_groupby,
      set.sync_mode);
}

std::string Choice(const TflmsResult& result, const TflmsSimulator& simulator) {
  if (!result.tuned) return "LMS will use the following parameter set:";
  if (result.passed || result.options.compat) {
    return "LMS will use the latest parameter set found by Simulator for the "
           "best performance. However, if you encounter an out-of-memory "
           "error, please manually use the previous parameter set found by "
           "Simulator.";
  }
  int64_t least_bytes = result.tried.front().play.peak_device_bytes;
  for (const TflmsTrial& trial : result.tried) {
    least_bytes = std::min(least_bytes, trial.play.peak_device_bytes);
  }
  return fmt::format(
      "No parameter set passed. LMS will use that of the least memory, which "
      "needs {} GiB of the {} GiB available:",
      Gib(least_bytes), Gib(simulator.capacity_bytes()));
}

}  // namespace

std::vector<LogLine> DescribeTflmsSearch(const TflmsSimulator& simulator,
                                         int64_t batch_size) {
  std::vector<LogLine> log = {
      {0,
       "Searching values for parameters: swapout_threshold, swapin_ahead, "
       "swapin_groupby and sync_mode. "},
      {0, fmt::format("[Simulator] Available memory for simulation: {} GiB "
                      "(memory ratio: {})",
                      Gib(simulator.capacity_bytes()),
                      simulator.limits().memory_ratio)},
      {0, fmt::format("[Simulator] Available CPU memory for simulation: {} GiB",
                      Gib(simulator.limits().host_bytes))}};
  if (batch_size > 0) {
    log.push_back(
        {0, fmt::format("[Simulator] Batch size used for simulation: {}",
                        batch_size)});
  }
  return log;
}

LogLine DescribeFoundSet(const TflmsTrial& trial) {
  std::string text = "[Simulator] Found a parameter set: " + TextOf(trial.set);
  if (trial.play.host_warning) {
    text += fmt::format(
        " (Warning: likely to exceed host memory limit. {} GiB required)",
        Gib(trial.play.peak_host_bytes));
  }
  return {0, text};
}

std::vector<LogLine> DescribeTflmsChoice(const LmsOptions& options,
                                         const TflmsResult& result,
                                         const TflmsSimulator& simulator) {
  if (!result.necessary) return {{0, "LMS is not necessary. Turned LMS off."}};
  std::vector<LogLine> log;
  if (!options.compat && result.options.v2.sync_mode != options.v2.sync_mode) {
    log.push_back(
        {0, fmt::format("No parameter set of sync_mode {} passed, "
                        "so sync_mode is {} now.",
                        options.v2.sync_mode, result.options.v2.sync_mode)});
  }
  std::vector<LogLine> chosen = DescribeOptions(result.options);
  chosen.front().text = Choice(result, simulator);
  std::ranges::move(chosen, std::back_inserter(log));
  return log;
}

absl::Status NothingPassed(const TflmsTrial& least,
                           const TflmsSimulator& simulator) {
  return ResourceExhausted(fmt::format(
      "Auto-tuning was unable to find a value for swapout_threshold. Please "
      "specify it manually. (Of the sets tried, {} needs least: {} GiB of the "
      "{} GiB available.)",
      TextOf(least.set), Gib(least.play.peak_device_bytes),
      Gib(simulator.capacity_bytes())));
}

std::vector<std::string> TflmsLogLines(const TflmsResult& result) {
  std::vector<std::string> lines;
  for (const LogLine& line : result.log) {
    lines.push_back(fmt::format("[LMS][{}] {}", line.level, line.text));
  }
  return lines;
}

}  // namespace spillway
