// One line on stderr that is overwritten as work progresses, for interactive
// use: nothing is written unless stderr is a terminal. It is cut at the
// terminal's width and updated at most ten times per second.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_PROGRESS_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace spillway {

void ShowProgress(std::string_view text);
void ClearProgress();

// The progress of a part of the work: "warm-up 3/10, 12 s left".
class ProgressOf {
 public:
  explicit ProgressOf(std::string part) : part_(std::move(part)) {}

  const std::string& part() const { return part_; }

  // `note`: appended. The time left is computed from the mean speed since the
  // first call, and omitted until one item was done since.
  void Show(int64_t done, int64_t total, std::string_view note = "");

 private:
  using Clock = std::chrono::steady_clock;

  std::string part_;
  int64_t first_done_ = -1;
  Clock::time_point start_ = {};
};

// "warm-up 3/10, 12 s left, note"; the time is omitted while it is unknown.
std::string DescribeProgress(std::string_view part, int64_t done, int64_t total,
                             double seconds_left, std::string_view note);

// "8 s", "3 min 20 s", "2 h 5 min".
std::string FormatSeconds(double seconds);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_PROGRESS_H_
