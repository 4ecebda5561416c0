// The output of `spillway bench`, in the line format of tf_cnn_benchmarks, and
// its JSON result (docs/cli.md).
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BENCH_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BENCH_REPORT_H_

#include <string>

#include "benchmarks/cnn_throughput.h"
#include "tools/spillway/command/bench_command.h"
#include "tools/spillway/command/bench_setup.h"
#include "tools/spillway/output/output.h"

namespace spillway {

// Every text ends with a line break, unless stated otherwise.
std::string FormatBenchInfo(const BenchFlags& flags, const BenchSetup& setup);
std::string FormatBenchHeader(const BenchFlags& flags);
// A forward step shows no loss: 0.000.
std::string FormatBenchStep(const BenchFlags& flags,
                            const ThroughputStep& step);
// "after 3 of 100 timed steps"; not a full line.
std::string FormatBenchDone(const BenchFlags& flags,
                            const ThroughputResult& result);
// The total, and whether the measurement was interrupted.
std::string FormatBenchTotal(const BenchFlags& flags,
                             const ThroughputResult& result);
// Memory, swaps, lanes, prediction and checksum.
std::string FormatBenchEnd(const BenchSetup& setup,
                           const ThroughputResult& result);

// Speeds and times are null without timed steps.
Json BenchJson(const BenchFlags& flags, const BenchSetup& setup,
               const ThroughputResult& result);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BENCH_REPORT_H_
