// StepOptions: where a step is to run, in how much memory, and who decides what
// is swapped. What `spillway`'s flags of the same names mean.
#ifndef SPILLWAY_TUNER_STEP_OPTIONS_H_
#define SPILLWAY_TUNER_STEP_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "executor/device/device.h"
#include "executor/kernel.h"
#include "executor/plan/choose_schedule.h"
#include "executor/session/session.h"
#include "executor/standard_kernels.h"
#include "graph/op_registry.h"
#include "graph/standard_ops.h"
#include "lms/options.h"
#include "simulator/device_profile.h"
#include "tuner/saved_plan.h"

namespace spillway {

struct TriedSet;  // tuner/search/tune_swaps.h

// Which of its algorithms a kernel takes, where it has several.
enum class AlgorithmChoice : uint8_t {
  // Those of the step without a budget: the fastest by the profile of the
  // device at full speed, or the library's first where that measured none.
  // Results are bitwise identical whatever budget, link, LMS options and tuned
  // plan.
  kSame,
  // The library's first, whatever the profile: results are bitwise identical
  // across machines with the same library too.
  kFirst,
  // The fastest by the profile with which the step fits; the tuner chooses them
  // together with the swaps. Another budget may change how results round.
  kAuto,
};

// A device profile: by the name of a shipped one ("h200_pcie5",
// simulator/shipped_profiles.h), by the path of a file, or by value. Empty
// text: what was measured of the device before
// (tuner/profile/resolve_profile.h), or assumed rates.
using ProfileChoice = std::variant<std::string, DeviceProfile>;

struct StepOptions {
  // "cpu", "cuda", "cuda:N" or "inline"; empty: cuda where this build and
  // machine have it, else cpu.
  std::string device = {};
  // Threads of CPU kernels; 0: all cores. Results differ in rounding between
  // different numbers of threads.
  int threads = 0;
  // Slows copies of the cpu and inline devices to so many 1e9 bytes a second
  // each way; 0: full speed.
  double link_gbps = 0;
  // Launches steps as one captured graph of the device (cuda).
  bool capture_steps = false;

  // Budget of the device, bytes; a hard limit. None: Tune and Simulate take the
  // memory of a profile that was named; otherwise, where the tuner decides,
  // what is free on the device; else as little as the plan needs.
  std::optional<int64_t> device_memory = {};
  // Limit of the host's swap pool, bytes; none: DefaultHostMemory().
  std::optional<int64_t> host_memory = {};

  // kAuto: the tuner chooses. kOff: no swaps.
  LmsOptions lms = LmsOptions::Auto();
  // Of the nodes, where the tuner does not choose it too.
  ScheduleKind schedule = ScheduleKind::kAuto;
  AlgorithmChoice algorithms = AlgorithmChoice::kSame;
  MathOptions math = {};
  ProfileChoice profile = {};
  // Seconds after which the tuner tries no further candidate; the choice then
  // depends on the machine's speed. None: no limit.
  std::optional<double> time_limit = {};
  // Asked by the tuner before each candidate but the first; true ends the
  // search with the best so far (TunedStep::interrupted). Where nothing that
  // was tried until then fits, tuning returns CANCELLED. Measuring a profile
  // has a request of its own (ProfileMeasurement::stop).
  StopRequest stop = {};

  // Called by the tuner with each candidate as it is tried; null: nobody.
  std::function<void(const TriedSet& tried)> on_tried = {};

  // What Tune chose before, for this graph: run just that; `lms`, `schedule`
  // and `algorithms` are not looked at. Borrowed for the call. Null: there is
  // none.
  const SavedPlan* plan = nullptr;

  // Called with each line that LMS and the tuner have to tell; null: silent.
  std::function<void(std::string_view line)> log = {};

  uint64_t seed = 0;                            // of initialisers and dropout
  std::vector<std::string> own_variables = {};  // see SessionOptions
  bool check_memory = false;                    // SessionOptions::check_memory

  // Borrowed for as long as what is made with these options lives.
  const OpRegistry* ops = &StandardOps();
  const KernelRegistry* kernels = &StandardKernels();
};

// INVALID_ARGUMENT naming the first option that is out of its range.
absl::Status CheckStepOptions(const StepOptions& options);

// Half of the RAM that this process may use, container limits included; 0 where
// the system does not say (no host memory can be allocated there either).
int64_t DefaultHostMemory();

// The limit of the swap pool, with the default filled in.
int64_t HostMemoryOf(const StepOptions& options);

// The device with the budget as its capacity, or with `device_limit` if that is
// less; and with all that it has. Errors: what NewDevice says, and
// INVALID_ARGUMENT for options that the device does not have, all naming the
// option.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(
    const StepOptions& options, std::optional<int64_t> device_limit = {});
absl::StatusOr<std::unique_ptr<Device>> OpenWholeDevice(
    const StepOptions& options);

// For a session on the device that OpenDevice returns.
SessionOptions SessionOptionsOf(const StepOptions& options);

// The budget that the tuner has to meet: device_memory, else what is free on
// the device at this moment. Errors: as OpenDevice.
absl::StatusOr<int64_t> DeviceBudget(const StepOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_STEP_OPTIONS_H_
