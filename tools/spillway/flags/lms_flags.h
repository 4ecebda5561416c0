// Flags of large-model support.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_

#include "lms/options.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

// `options.mode` is the mode without --lms. If it is off, the other flags
// require --lms, so that none is silently ignored.
void AddLmsFlags(FlagSet& flags, LmsOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_
