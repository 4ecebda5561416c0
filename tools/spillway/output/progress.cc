#include "tools/spillway/output/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/units.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// Back to the first column, and clear to the end of the line.
constexpr const char* kStartOver = "\r\x1b[K";

size_t TerminalColumns() {
  constexpr size_t kUsual = 80;
  winsize size = {};
  const bool is_known =
      ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col : kUsual;
}

// Whether enough time has passed since this last returned true.
bool IsTimeToShow() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause(100);
  static Clock::time_point next = {};
  const Clock::time_point now = Clock::now();
  if (now < next) return false;
  next = now + kPause;
  return true;
}

void Write(std::string_view text) {
  fmt::print(stderr, "{}{}", kStartOver, std::string(text));
}

}  // namespace

void ShowProgress(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0 || !IsTimeToShow()) return;
  Write(text.substr(0, TerminalColumns() - 1));
}

void ClearProgress() {
  if (isatty(STDERR_FILENO) != 0) Write("");
}

void ProgressOf::Show(int64_t done, int64_t total, std::string_view note) {
  if (first_done_ < 0) {
    first_done_ = done;
    start_ = Clock::now();
  }
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  const auto steps = static_cast<double>(done - first_done_);
  const double left =
      steps > 0 ? elapsed.count() / steps * static_cast<double>(total - done)
                : -1;
  ShowProgress(DescribeProgress(part_, done, total, left, note));
}

std::string DescribeProgress(std::string_view part, int64_t done, int64_t total,
                             double seconds_left, std::string_view note) {
  std::string text = fmt::format("{} {}/{}", part, done, total);
  if (seconds_left >= 0) {
    text += fmt::format(", {} left", FormatSeconds(seconds_left));
  }
  if (!note.empty()) text += fmt::format(", {}", note);
  return text;
}

std::string FormatSeconds(double seconds) {
  constexpr double kMost = 1e9;  // thirty years
  const auto whole =
      static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, kMost)));
  return whole == 0 ? "0 s" : FormatDuration(whole * 1'000'000'000);
}

}  // namespace spillway
