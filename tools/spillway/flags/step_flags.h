// Flags for where, and in how much memory, a step runs; they fill StepOptions.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_STEP_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_STEP_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tuner/placement/place_programs.h"
#include "tuner/saved_plan.h"
#include "tuner/step_options.h"

namespace spillway {

// The options without these flags: LMS in this mode, logging to stderr.
StepOptions DefaultStepOptions(LmsMode mode = LmsMode::kOff);

inline constexpr int kMostThreads = 1024;

// --device, --threads, --algorithms, --deterministic.
void AddDeviceFlags(FlagSet& flags, StepOptions& step);
// --link_gbps, for commands that run steps.
void AddLinkFlag(FlagSet& flags, StepOptions& step);
// --cuda_graph, for commands that run many steps or predict their time.
void AddCudaGraphFlag(FlagSet& flags, StepOptions& step);

// The memory to which a percentage in --device_memory refers, and which is its
// default if the tuner decides.
enum class MemoryOwner : uint8_t {
  kDevice,   // the free memory of the device
  kProfile,  // the memory of the named profile; else as kDevice
};

struct MemoryFlagsSpec {
  MemoryOwner owner = MemoryOwner::kDevice;
  Decider decider = Decider::kLms;  // as for AddLmsFlags
  // Of a command with several devices a rank: how many, and where their budgets
  // go if there is one for each device of each rank. Null: one device.
  const int64_t* num_devices = nullptr;
  std::vector<int64_t>* device_budgets = nullptr;
};

// --device_memory, --host_memory, --schedule.
void AddMemoryFlags(FlagSet& flags, StepOptions& step,
                    const MemoryFlagsSpec& spec = {});
// --place, for commands that plan or run steps.
void AddPlaceFlag(FlagSet& flags, PlaceMode& place);
// --check_memory, for commands that run steps.
void AddCheckMemoryFlag(FlagSet& flags, StepOptions& step);

// --profile: a shipped profile's name or a file.
void AddProfileFlag(FlagSet& flags, StepOptions& step, const std::string& help);

// --plan, for commands that run or simulate steps; excludes --lms and
// --lms_recompute, which the command must have.
void AddPlanFlag(FlagSet& flags, std::string& plan);

// Reads the file of --plan into `plan` and sets step.plan; does nothing without
// the flag. Errors: INVALID_ARGUMENT naming the flag.
absl::Status ReadPlanFlag(const std::string& path, const Graph& graph,
                          SavedPlan& plan, StepOptions& step);

// What the error of a command may advise.
struct Advice {
  bool may_tune = true;        // --lms auto: the command has a tuner
  bool has_batch_size = true;  // false: a graph file fixes it
};

// The library names fields of StepOptions in its errors. This replaces them
// with the flags of the same meaning: "device_memory: ..." becomes
// "--device_memory: ...".
absl::Status InFlagTerms(const absl::Status& status, const Advice& advice = {});

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_STEP_FLAGS_H_
