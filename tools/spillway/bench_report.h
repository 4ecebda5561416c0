// What `spillway bench` prints, line by line as tf_cnn_benchmarks does, and its
// JSON result (docs/cli.md).
#ifndef SPILLWAY_TOOLS_SPILLWAY_BENCH_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_BENCH_REPORT_H_

#include <string>

#include "benchmarks/cnn_throughput.h"
#include "tools/spillway/bench_command.h"
#include "tools/spillway/bench_setup.h"
#include "tools/spillway/output.h"

namespace spillway {

// Every text ends with a line break.
std::string FormatBenchInfo(const BenchFlags& flags, const BenchSetup& setup);
std::string FormatBenchHeader(const BenchFlags& flags);
// A forward step shows no loss: 0.000.
std::string FormatBenchStep(const BenchFlags& flags,
                            const ThroughputStep& step);
// The total, memory, swaps, lanes.
std::string FormatBenchEnd(const BenchSetup& setup,
                           const ThroughputResult& result);

Json BenchJson(const BenchFlags& flags, const BenchSetup& setup,
               const ThroughputResult& result);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_BENCH_REPORT_H_
