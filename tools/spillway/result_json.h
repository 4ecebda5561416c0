// The parts of JSON results that several commands write alike (docs/cli.md).
#ifndef SPILLWAY_TOOLS_SPILLWAY_RESULT_JSON_H_
#define SPILLWAY_TOOLS_SPILLWAY_RESULT_JSON_H_

#include <cstdint>

#include "executor/plan/algorithms.h"
#include "executor/plan/compile_options.h"
#include "executor/plan/floor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/report.h"
#include "tools/spillway/output.h"
#include "tuner/prepare_step.h"

namespace spillway {

constexpr double Milliseconds(int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

// {"mode", and every option that has an effect in it}
Json LmsJson(const LmsOptions& options);

// {"tensors", "swap_outs", "swap_ins", "delayed_swap_ins", "out_bytes",
// "in_bytes"}
Json SwapJson(const SwapCounts& counts);

// Kernels by the algorithm that is named for them: {"direct": 12, ...}
Json AlgorithmsJson(const AlgorithmNames& algorithms);

// {"predicted", "measured"}
Json PeakJson(int64_t predicted, int64_t measured);

// {"node", "bytes"}
Json FloorJson(const MemoryFloor& floor, const Graph& graph);

// [{"tensor", "reason"}]
Json DroppedJson(const LmsReport& report);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_RESULT_JSON_H_
