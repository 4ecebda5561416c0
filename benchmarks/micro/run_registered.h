// The rest of main() of a program that registers its benchmarks itself.
#ifndef SPILLWAY_BENCHMARKS_MICRO_RUN_REGISTERED_H_
#define SPILLWAY_BENCHMARKS_MICRO_RUN_REGISTERED_H_

#include <benchmark/benchmark.h>

namespace spillway {

// Runs what the flags select. Returns the exit status: 2 for a flag that is
// not Google Benchmark's.
inline int RunRegistered(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_MICRO_RUN_REGISTERED_H_
