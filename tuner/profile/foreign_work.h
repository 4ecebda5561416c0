// The CPU time that other programs took during a measurement.
#ifndef SPILLWAY_TUNER_PROFILE_FOREIGN_WORK_H_
#define SPILLWAY_TUNER_PROFILE_FOREIGN_WORK_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "tuner/profile/plausible_profile.h"

namespace spillway {

// A measurement is repeated if other programs took more than this fraction of
// CPU time, and marked if repeating does not help.
inline constexpr double kMostForeignWork = 0.1;

// Seconds since the machine started, summed over the CPUs that this process may
// use.
struct CpuTimes {
  double all = 0;   // including idle time; 0: not known
  double busy = 0;  // of all processes, and time that a hypervisor took
  double own = 0;   // of this process, since it started
};

// Reads /proc/stat, whose clock ticks 100 times a second. `root` is put before
// /proc, for tests. All zeros if the file cannot be read.
CpuTimes ReadCpuTimes(const std::string& root);

// The fraction of CPU time between two readings, 0 to 1, in which the CPUs were
// busy with other processes; 0 if too little time has passed to tell.
double ForeignWork(const CpuTimes& begin, const CpuTimes& end);

// Returns a reading of one machine.
using CpuClock = std::function<CpuTimes()>;

// Calls `measure`, which returns a StatusOr<Result>, until foreign work is at
// most kMostForeignWork, but at most kMostAttempts times. Returns the attempt
// with the least foreign work and sets `foreign_work` to its fraction. Errors:
// the first that `measure` returns.
template <typename Measure>
auto MeasureAlone(const CpuClock& clock, Measure measure, double& foreign_work)
    -> decltype(measure()) {
  decltype(measure()) best = absl::UnknownError("not measured");
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const CpuTimes begin = clock();
    auto measured = measure();
    if (!measured.ok()) return measured;
    const double foreign = ForeignWork(begin, clock());
    if (!best.ok() || foreign < foreign_work) {
      best = std::move(measured);
      foreign_work = foreign;
    }
    if (foreign_work <= kMostForeignWork) break;
  }
  return best;
}

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_FOREIGN_WORK_H_
