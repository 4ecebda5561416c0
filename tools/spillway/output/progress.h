// One line on stderr that is overwritten as work goes on, for people who watch:
// nothing is written unless stderr is a terminal. It is cut at the terminal's
// width and renewed ten times a second at most.
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

// How far a part of the work is: "warm-up 3/10, 12 s left".
class ProgressOf {
 public:
  explicit ProgressOf(std::string part) : part_(std::move(part)) {}

  const std::string& part() const { return part_; }

  // `note`: put behind it. The time left is what so many more would take at the
  // mean speed since the first call, and missing until one is done since.
  void Show(int64_t done, int64_t total, std::string_view note = "");

 private:
  using Clock = std::chrono::steady_clock;

  std::string part_;
  int64_t first_done_ = -1;
  Clock::time_point start_ = {};
};

// "warm-up 3/10, 12 s left, note"; the time is left out before it is known.
std::string DescribeProgress(std::string_view part, int64_t done, int64_t total,
                             double seconds_left, std::string_view note);

// "8 s", "3 min 20 s", "2 h 5 min".
std::string FormatSeconds(double seconds);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_PROGRESS_H_
