// Flags of large-model support.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_

#include "lms/options.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

// `options.mode` is what a command line without --lms means. Where that is off,
// the other flags need --lms, so that none is without effect unnoticed.
void AddLmsFlags(FlagSet& flags, LmsOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_LMS_FLAGS_H_
