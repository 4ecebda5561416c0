// What an edit did: counts, bytes, and the log lines that TFLMS users grep for.
#ifndef SPILLWAY_LMS_REPORT_H_
#define SPILLWAY_LMS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lms/options.h"
#include "lms/recompute/recompute_plan.h"
#include "lms/swap_plan.h"

namespace spillway {

// The clones of one step.
struct CloneCounts {
  int64_t nodes = 0;
  int64_t bytes = 0;  // of their outputs
};
CloneCounts CountClones(const Graph& edited);

struct LmsReport {
  int64_t added_ops = 0;
  RecomputePlan recompute = {};
  CloneCounts clones = {};
  int64_t swap_tensors = 0;
  int64_t swap_outs = 0;
  int64_t swap_ins = 0;
  int64_t out_bytes = 0;  // of one step
  int64_t in_bytes = 0;
  int64_t levels = 0;   // of the edited graph
  int64_t edit_ns = 0;  // measured by the caller
  struct Dropped {
    std::string tensor = {};
    std::string reason = {};
  };
  std::vector<Dropped> dropped = {};
  std::vector<LogLine> log = {};  // messages of the planner
};

// Everything but edit_ns. `edited` has the clones and the swaps.
LmsReport MakeReport(const RecomputePlan& recompute, const SwapPlan& swaps,
                     const Graph& original, const Graph& edited);

// "[LMS][0] Editing model for LMS", ... one string per line.
std::vector<std::string> LogLines(const LmsOptions& options,
                                  const LmsReport& report);

}  // namespace spillway

#endif  // SPILLWAY_LMS_REPORT_H_
