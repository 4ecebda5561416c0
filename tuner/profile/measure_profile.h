// The device profile of this machine, measured.
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
  // Of each measurement of the machine, at most; 20 take about a second.
  int64_t repeats = 20;
  // Steps of the program that are timed, and steps before these.
  int64_t steps = 20;
  int64_t warmup_steps = 3;
  // Whose kernels are measured, without swaps; null: none, times of kernels are
  // then estimated from rates. Borrowed.
  const Program* program = nullptr;
  // What its steps are fed; null: zeros. Borrowed.
  const Feeds* feeds = nullptr;
  // Called before each part, "link, memory, rates" and "kernels" among them,
  // and after each of its `total` measurements. Null: silent.
  std::function<void(std::string_view part, int64_t done, int64_t total)>
      on_progress = {};
  // Tells foreign work; a test's own says what it likes. Null: /proc/stat.
  CpuClock cpu_clock = {};
  // Asked before each measurement: of a size of copies, of rates, of a step or
  // a round of steps. True: CANCELLED, since half a profile is none.
  StopRequest stop = {};
};

struct MeasuredProfile {
  DeviceProfile profile = {};
  std::optional<MeasuredKernels> kernels = {};  // none: there was no program
};

// Link, memory, peak rates, the host, and the kernels of a program: with their
// first algorithms, then again with the second algorithm of each that has
// several (unless options.algorithms is kFirst), and so on; those that do not
// fit the machine are left out, which is logged. What makes no sense is
// measured again, and in the end brought into its range with a warning
// (MakePlausible). What was measured beside other work is measured again too,
// and in the end marked with a warning (foreign_work.h). Takes the device for
// some seconds. Errors: as OpenDevice; RESOURCE_EXHAUSTED where the step does
// not fit the machine; CANCELLED if stopped; what a session says.
absl::StatusOr<MeasuredProfile> MeasureProfileAndKernels(
    const StepOptions& options, const ProfileMeasurement& measurement = {});

absl::StatusOr<DeviceProfile> MeasureProfile(
    const StepOptions& options, const ProfileMeasurement& measurement = {});

// INVALID_ARGUMENT unless the profile at `path` is of `device`
// (DescribeDevice).
absl::Status CheckSameDevice(const DeviceProfile& old, std::string_view device,
                             const std::string& path);

// Adds to `profile` the kernels of an older one that it has not measured, if
// both are of the same libraries.
void KeepKernels(DeviceProfile old, DeviceProfile& profile);

// The text of a profile file, brought into the ranges that its reader takes;
// warns of what was changed. Errors: INTERNAL for a text that could not be read
// again.
absl::StatusOr<std::string> ReadableText(DeviceProfile& profile);

// Writes `profile` to `path`, or adds it to the profile of the same device and
// libraries that is there (KeepKernels). Errors: INVALID_ARGUMENT for the
// profile of another device; what ReadDeviceProfile and WriteFileAtomically
// say.
absl::Status SaveProfile(DeviceProfile profile, const std::string& path);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_PROFILE_H_
