// `spillway inspect --memory`: the contents of a step's memory, as text and
// JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_MEMORY_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_MEMORY_REPORT_H_

#include <cstdint>
#include <string>

#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "tools/spillway/output/output.h"

namespace spillway {

// The memory curve and the `rows` largest buffers at the peak, with the steps
// of their lives and the reason why they are still live; also for the host pool
// if the plan swaps.
std::string FormatMemory(const ExecutionPlan& plan, const Graph& graph,
                         int64_t rows);

// {"device": {"bytes", "peak_step", "peak_node", "peak_bytes", "at_peak":
//  [{"buffer", "kind", "bytes", "from", "to", "reason"}], "curve": [bytes]},
//  "host": the same or null, "steps": [node]}
Json MemoryJson(const ExecutionPlan& plan, const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_MEMORY_REPORT_H_
