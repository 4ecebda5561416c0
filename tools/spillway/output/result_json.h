// The parts of JSON results that several commands share (docs/cli.md).
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_RESULT_JSON_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_RESULT_JSON_H_

#include <cstdint>
#include <string>

#include "executor/plan/algorithms.h"
#include "executor/plan/compile_options.h"
#include "executor/plan/floor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/report.h"
#include "tools/spillway/output/output.h"
#include "tuner/prepare_step.h"
#include "tuner/step_options.h"

namespace spillway {

constexpr double Milliseconds(int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

// {"mode", and every option that has an effect in this mode}
Json LmsJson(const LmsOptions& options);

// {"tensors", "swap_outs", "swap_ins", "delayed_swap_ins", "out_bytes",
// "in_bytes"}
Json SwapJson(const SwapCounts& counts);

// Counts kernels by their named algorithm: {"direct": 12, ...}
Json AlgorithmsJson(const AlgorithmNames& algorithms);

// A digest of the kernels' algorithms by node: equal for equal choices, "first"
// if every kernel takes its first algorithm.
std::string AlgorithmsDigest(const AlgorithmNames& algorithms,
                             const Graph& graph);

// "checksum     b109cd687b7144d6 with algorithms 0f3c...\n": runs with equal
// digests have equal checksums.
std::string FormatChecksum(const std::string& checksum,
                           const std::string& digest, AlgorithmChoice choice);

// {"predicted", "measured"}
Json PeakJson(int64_t predicted, int64_t measured);

// {"node", "bytes"}
Json FloorJson(const MemoryFloor& floor, const Graph& graph);

// {"nodes", "bytes"}
Json ClonesJson(const CloneCounts& clones);

// [{"tensor", "reason"}]
Json DroppedJson(const LmsReport& report);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_RESULT_JSON_H_
