// Flags that say where and in how much memory a step runs, into StepOptions.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_STEP_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_STEP_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/passes/standard_passes.h"
#include "tools/spillway/flags/flags.h"
#include "tuner/saved_plan.h"
#include "tuner/step_options.h"

namespace spillway {

// What a command line without these flags means: LMS of this mode, its lines on
// stderr.
StepOptions DefaultStepOptions(LmsMode mode = LmsMode::kOff);

inline constexpr int kMostThreads = 1024;

// --device, --threads, --algorithms, --deterministic.
void AddDeviceFlags(FlagSet& flags, StepOptions& step);
// --link_gbps, for commands that run steps.
void AddLinkFlag(FlagSet& flags, StepOptions& step);
// --cuda_graph, for commands that run many steps or predict their time.
void AddCudaGraphFlag(FlagSet& flags, StepOptions& step);

// Whose memory a percentage of --device_memory is a part of.
enum class MemoryOwner : uint8_t {
  kDevice,   // what is free on the device
  kProfile,  // the memory of the profile that was named; else as kDevice
};

// --device_memory, --host_memory, --schedule.
void AddMemoryFlags(FlagSet& flags, StepOptions& step,
                    MemoryOwner owner = MemoryOwner::kDevice);
// --check_memory, for commands that run steps.
void AddCheckMemoryFlag(FlagSet& flags, StepOptions& step);

// --profile: a shipped profile's name or a file.
void AddProfileFlag(FlagSet& flags, StepOptions& step, const std::string& help);

// --plan, for commands that run or simulate steps.
void AddPlanFlag(FlagSet& flags, std::string& plan);

// The file of --plan, read into `plan` for step.plan; nothing without the flag.
// Errors: INVALID_ARGUMENT naming the flag, also for --plan beside --lms.
absl::Status ReadPlanFlag(const std::string& path, const Graph& graph,
                          SavedPlan& plan, StepOptions& step);

// What the graph's passes are chosen for. Errors: what OpenWholeDevice says of
// a name that does not tell by itself.
absl::StatusOr<PassTarget> PassTargetOf(const StepOptions& step);

// The library names StepOptions' fields in its errors; these are the flags of
// the same meaning: "device_memory: ..." becomes "--device_memory: ...".
absl::Status InFlagTerms(const absl::Status& status);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_STEP_FLAGS_H_
