// Flags of large-model support, and the edit they ask for.
#ifndef SPILLWAY_TOOLS_SPILLWAY_LMS_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_LMS_FLAGS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/report.h"
#include "tools/spillway/flags.h"

namespace spillway {

// `options.mode` is what a command line without --lms means. Where that is off,
// the other flags need --lms, so that none is without effect unnoticed.
void AddLmsFlags(FlagSet& flags, LmsOptions& options);

// Edits `graph`, measures how long that took, and shows the LMS log lines on
// stderr. Nothing is shown when the mode is off.
absl::StatusOr<LmsReport> EditGraph(const LmsOptions& options, Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_LMS_FLAGS_H_
