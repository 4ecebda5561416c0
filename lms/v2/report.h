// The log lines of version 2, word for word those of TFLMS.
#ifndef SPILLWAY_LMS_V2_REPORT_H_
#define SPILLWAY_LMS_V2_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lms/options.h"
#include "lms/report.h"
#include "lms/swap_plan.h"
#include "lms/v2/levels.h"
#include "lms/v2/roles.h"
#include "lms/v2/serialize_levels.h"

namespace spillway {

// GiB to two places, as Python writes them: "0.25", "0.5", "1.0".
std::string Gib(int64_t bytes);

// Describes the graph before the edit.
std::vector<LogLine> DescribeGraph(const Graph& graph, const V2Roles& roles,
                                   const V2Levels& levels);
// The serialized levels, and the number of levels afterwards.
std::vector<LogLine> DescribeSerialization(const LmsOptions& options,
                                           const LevelChains& chains,
                                           const V2Levels& levels);
// The nodes of each level; for debugging.
std::vector<LogLine> DescribeLevels(const Graph& graph, const V2Levels& levels);
std::vector<LogLine> DescribeOptions(const LmsOptions& options);
// One tensor's swap; for debugging.
std::vector<LogLine> DescribeSwap(const Swap& swap, const Graph& graph);

// All lines of an edit, each with its prefix "[LMS][<level>] ".
std::vector<std::string> V2LogLines(const LmsOptions& options,
                                    const LmsReport& report);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_REPORT_H_
