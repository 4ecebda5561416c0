// Flags of large-model support.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_

#include <cstdint>

#include "lms/options.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

// What decides the swaps of a command's step.
enum class Decider : uint8_t {
  kFlags,  // the flags alone: the command has no tuner
  kLms,    // --lms: the tuner with auto, else the flags
  kTuner,  // the tuner
};

// `options.mode` is the mode without --lms. If it is off, the other flags
// require --lms, so that none is silently ignored. With Decider::kFlags, the
// help does not offer `auto`.
void AddLmsFlags(FlagSet& flags, LmsOptions& options,
                 Decider decider = Decider::kLms);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_
