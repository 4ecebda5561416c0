// Measures the device profile of this machine.
//
//   SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile, MeasureProfile(
//       {.device = "cpu"}, {.program = &program, .feeds = &feeds}));
#ifndef SPILLWAY_TUNER_PROFILE_MEASURE_PROFILE_H_
#define SPILLWAY_TUNER_PROFILE_MEASURE_PROFILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "executor/session/session.h"
#include "simulator/device_profile.h"
#include "tuner/profile/foreign_work.h"
#include "tuner/profile/measure_kernels.h"
#include "tuner/step_options.h"

namespace spillway {

struct ProfileMeasurement {
  // At most, for each measurement of the machine; 20 take about a second.
  int64_t repeats = 20;
  // Timed steps of the program, and uncounted steps before them.
  int64_t steps = 20;
  int64_t warmup_steps = 3;
  // The program whose kernels are measured, without swaps; null: none, and
  // kernel times are then estimated from rates. Borrowed.
  const Program* program = nullptr;
  // The feeds of its steps; null: zeros. Borrowed.
  const Feeds* feeds = nullptr;
  // Called before each part, such as "link, memory, rates" and "kernels", and
  // after each of its `total` measurements. Null: silent.
  std::function<void(std::string_view part, int64_t done, int64_t total)>
      on_progress = {};
  // Measures foreign work; tests may replace it. Null: /proc/stat.
  CpuClock cpu_clock = {};
  // Called before each measurement: of a copy size, of rates, of a step or a
  // round of steps. True: returns CANCELLED, since a partial profile is
  // useless.
  StopRequest stop = {};
};

struct MeasuredProfile {
  DeviceProfile profile = {};
  std::optional<MeasuredKernels> kernels = {};  // nullopt: there was no program
};

// Measures link, memory, peak rates, the host, and the kernels of a program:
// with their first algorithms, then with the second algorithm of each kernel
// that has several (unless options.algorithms is kFirst), and so on. Algorithms
// that do not fit the machine are left out, which is logged. An implausible
// measurement is repeated; if it stays implausible, it is clamped into its
// range with a warning (MakePlausible). A measurement with too much foreign
// work is repeated too, and finally marked with a warning (foreign_work.h).
// Occupies the device for some seconds. Errors: as OpenDevice;
// RESOURCE_EXHAUSTED if the step does not fit the machine; CANCELLED if
// stopped; errors of a session.
absl::StatusOr<MeasuredProfile> MeasureProfileAndKernels(
    const StepOptions& options, const ProfileMeasurement& measurement = {});

absl::StatusOr<DeviceProfile> MeasureProfile(
    const StepOptions& options, const ProfileMeasurement& measurement = {});

// INVALID_ARGUMENT unless the profile at `path` is of `device`
// (DescribeDevice).
absl::Status CheckSameDevice(const DeviceProfile& old, std::string_view device,
                             const std::string& path);

// Adds to `profile` the kernels of an older profile that it has not measured,
// if both were measured with the same libraries.
void KeepKernels(DeviceProfile old, DeviceProfile& profile);

// The text of a profile file, with values clamped into the ranges that its
// reader accepts; warns of each change. Errors: INTERNAL if the text could not
// be read back.
absl::StatusOr<std::string> ReadableText(DeviceProfile& profile);

// Writes `profile` to `path`, or merges it with the profile of the same device
// and libraries in that file (KeepKernels). Errors: INVALID_ARGUMENT if the
// file is the profile of another device; errors of ReadDeviceProfile and
// WriteFileAtomically.
absl::Status SaveProfile(DeviceProfile profile, const std::string& path);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_PROFILE_H_
