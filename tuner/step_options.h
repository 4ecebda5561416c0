// StepOptions: where a step runs, in how much memory, and what decides the
// swaps. `spillway`'s flags of the same names have the same meanings.
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
#include "graph/passes/standard_passes.h"
#include "graph/standard_ops.h"
#include "lms/options.h"
#include "simulator/device_profile.h"
#include "tuner/network_options.h"
#include "tuner/saved_plan.h"
#include "tuner/search/search_effort.h"

namespace spillway {

struct TriedSet;  // tuner/search/tune_swaps.h

// Which algorithm a kernel takes if it has several.
enum class AlgorithmChoice : uint8_t {
  // The algorithms of the step without a budget: the fastest according to the
  // profile of the device at full speed, or the library's first if the profile
  // has none. Results are bitwise identical for every budget, link, set of LMS
  // options and tuned plan.
  kSame,
  // The library's first, for every profile: results are also bitwise identical
  // across machines with the same library.
  kFirst,
  // The fastest according to the profile with which the step fits; the tuner
  // chooses them together with the swaps. Another budget may change rounding.
  kAuto,
};

// A device profile: the name of a shipped one ("h200_pcie5",
// simulator/shipped_profiles.h), the path of a file, or a value. Empty text:
// the profile that was measured on the device before
// (tuner/profile/resolve_profile.h), or assumed rates.
using ProfileChoice = std::variant<std::string, DeviceProfile>;

struct StepOptions {
  // "cpu", "cuda", "cuda:N" or "inline"; empty: cuda if this build and machine
  // have it, else cpu.
  std::string device = {};
  // Threads of CPU kernels; 0: all cores. Another number of threads may change
  // rounding.
  int threads = 0;
  // Limits copies of the cpu and inline devices to this many 1e9 bytes per
  // second in each direction; 0: full speed.
  double link_gbps = 0;
  // Launches steps as one captured graph of the device (cuda).
  bool capture_steps = false;
  // As SessionOptions::communicator. Each rank may have another budget and
  // plan; results do not depend on them.
  Communicator* communicator = nullptr;

  // Budget of the device, bytes; a hard limit. nullopt: Tune and Simulate take
  // the memory of a named profile; otherwise, if the tuner decides, the free
  // memory of the device; else as little as the plan needs.
  std::optional<int64_t> device_memory = {};
  // Limit of the host's swap pool, bytes; nullopt: DefaultHostMemory().
  std::optional<int64_t> host_memory = {};

  // kAuto: the tuner chooses. kOff: no swaps.
  LmsOptions lms = LmsOptions::Auto();
  // Order of the nodes, unless the tuner chooses it.
  ScheduleKind schedule = ScheduleKind::kAuto;
  AlgorithmChoice algorithms = AlgorithmChoice::kSame;
  MathOptions math = {};
  ProfileChoice profile = {};
  // The run of several ranks that is predicted. Those of `communicator` count
  // if the profile has a network.
  NetworkOptions network = {};
  // Whether to log that the profile may be wrong: false after the first look at
  // it, so that each command or call says it once.
  bool warns_of_profile = true;
  SearchEffort effort = SearchEffort::kNormal;  // of the tuner
  // Seconds after which the tuner tries no further candidate; the choice then
  // depends on the machine's speed. nullopt: no limit.
  std::optional<double> time_limit = {};
  // Called by the tuner often, but not before the first candidate; true ends
  // the search with the best so far (TunedStep::interrupted). If no candidate
  // fits until then, tuning returns CANCELLED. Measuring a profile has a
  // separate request (ProfileMeasurement::stop).
  StopRequest stop = {};

  // Called by the tuner with each candidate when it is tried; null: not called.
  std::function<void(const TriedSet& tried)> on_tried = {};

  // An earlier choice of Tune for this graph, to run exactly that; `lms`,
  // `schedule` and `algorithms` are then ignored. Borrowed for the call. Null:
  // no plan.
  const SavedPlan* plan = nullptr;

  // Called with each log line of LMS and the tuner; null: silent.
  std::function<void(std::string_view line)> log = {};

  uint64_t seed = 0;                            // of initialisers and dropout
  std::vector<std::string> own_variables = {};  // see SessionOptions
  bool check_memory = false;                    // SessionOptions::check_memory

  // Borrowed for the lifetime of everything made with these options.
  const OpRegistry* ops = &StandardOps();
  const KernelRegistry* kernels = &StandardKernels();
};

// INVALID_ARGUMENT naming the first option that is out of range.
absl::Status CheckStepOptions(const StepOptions& options);

// Half of the RAM that this process may use, container limits included; 0 if
// the system does not tell (then no host memory can be allocated either).
int64_t DefaultHostMemory();

// The limit of the swap pool, with the default filled in.
int64_t HostMemoryOf(const StepOptions& options);

// The device, with the budget as its capacity, or `device_limit` if that is
// smaller; OpenWholeDevice: with all of its memory. Errors: those of NewDevice,
// and INVALID_ARGUMENT for options that the device does not support, all naming
// the option.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(
    const StepOptions& options, std::optional<int64_t> device_limit = {});
absl::StatusOr<std::unique_ptr<Device>> OpenWholeDevice(
    const StepOptions& options);

// The target of a graph's passes. Errors: those of OpenWholeDevice, which is
// needed only if the device's name does not tell.
absl::StatusOr<PassTarget> PassTargetOf(const StepOptions& options);

// The options for a session on the device that OpenDevice returns.
SessionOptions SessionOptionsOf(const StepOptions& options);

// The budget for the tuner: device_memory, else the memory that is free on the
// device now. Errors: as OpenDevice.
absl::StatusOr<int64_t> DeviceBudget(const StepOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_STEP_OPTIONS_H_
