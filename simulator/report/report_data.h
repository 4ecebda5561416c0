// The data that a report's page shows, as JSON that its scripts read
// (page/report.js). Rows are arrays, which keeps the pages of large plans
// small. Times are in ns, sizes in bytes.
//
//   {"facts": [[label, value]], "batch_size", "step_ns", "lane_names": [name],
//    "stall_ns": [copy in, copy out, issue],
//    "steps": [[lane, node, op, begin, end, bytes copied]],
//    "clones": [[step, node whose values it computes again]],
//    "stalls": [[step, cause, copy or -1, ns]],
//    "device": {"arena_bytes", "budget", "resident_bytes", "peak_bytes",
//               "peak_ns"}, "host": the same,
//    "buffers": [[name, kind, on host, bytes, begin, end, the buffer that holds
//                 its tensor first, [step that uses it]]],
//    "tensors": [[buffer, bytes, moves, begin, end, [[away from, to]],
//                 copy out ns, copy in ns, stall ns, byte-seconds freed,
//                 at peak, recomputed, recompute ns,
//                 null or [if kept, if swapped, if recomputed: ns or null]]],
//    "bound": null or [ns, reason],
//    "measured": null or {"step_ns", "device_bytes", "host_bytes", "steps"},
//    "tried": [[label, fits, device, host, ns or null, note]], "chosen",
//    "frontier": [[budget, step ns, bound ns, device, name]],
//    "frontier_interrupted", "policies": [[name, device, step ns]],
//    "has_changes": whether some tensor's other fates are known}
#ifndef SPILLWAY_SIMULATOR_REPORT_REPORT_DATA_H_
#define SPILLWAY_SIMULATOR_REPORT_REPORT_DATA_H_

#include "nlohmann/json.hpp"
#include "simulator/report/html_report.h"

namespace spillway {

using Json = nlohmann::ordered_json;

Json ReportData(const HtmlReport& report);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_REPORT_REPORT_DATA_H_
