#include "tuner/profile/foreign_work.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace spillway {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

double OwnSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// The fields of a line "cpuN user nice system idle iowait irq softirq steal".
struct CpuLine {
  int cpu = -1;  // -1: another kind of line
  std::array<double, 8> ticks = {};

  double all() const {
    double sum = 0;
    for (const double each : ticks) sum += each;
    return sum;
  }
  double idle() const { return ticks[3] + ticks[4]; }
};

CpuLine ParseLine(const std::string& line) {
  CpuLine parsed;
  std::istringstream fields(line);
  std::string name;
  fields >> name;
  for (double& each : parsed.ticks) fields >> each;
  if (fields.fail() || name.size() < 4 || !name.starts_with("cpu")) return {};
  std::istringstream number(name.substr(3));
  if (!(number >> parsed.cpu)) parsed.cpu = -1;
  return parsed;
}

}  // namespace

CpuTimes ReadCpuTimes(const std::string& root) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream stat(root + "/proc/stat");
  CpuTimes times;
  for (std::string line; std::getline(stat, line);) {
    const CpuLine parsed = ParseLine(line);
    if (parsed.cpu < 0 || parsed.cpu >= CPU_SETSIZE ||
        !CPU_ISSET(parsed.cpu, &allowed)) {
      continue;
    }
    times.all += parsed.all() / ticks_per_second;
    times.busy += (parsed.all() - parsed.idle()) / ticks_per_second;
  }
  times.own = OwnSeconds();
  return times;
}

double ForeignWork(const CpuTimes& begin, const CpuTimes& end) {
  constexpr double kLeastSeconds = 0.2;  // 20 ticks
  const double all = end.all - begin.all;
  if (all < kLeastSeconds) return 0;
  const double foreign = (end.busy - begin.busy) - (end.own - begin.own);
  return std::clamp(foreign / all, 0.0, 1.0);
}

}  // namespace spillway
