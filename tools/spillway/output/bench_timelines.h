// `bench --trace` and `bench --report`: the predicted step next to the measured
// one.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BENCH_TIMELINES_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BENCH_TIMELINES_H_

#include "benchmarks/cnn_throughput.h"
#include "tools/spillway/command/bench_command.h"
#include "tools/spillway/command/bench_setup.h"

namespace spillway {

// Writes the files that the flags ask for.
void WriteTimelines(const BenchFlags& flags, const BenchSetup& setup,
                    const ThroughputResult& result, Outputs& outputs);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BENCH_TIMELINES_H_
