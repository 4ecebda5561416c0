// The rest of main() for a program that registers its own benchmarks.
#ifndef SPILLWAY_BENCHMARKS_MICRO_RUN_REGISTERED_H_
#define SPILLWAY_BENCHMARKS_MICRO_RUN_REGISTERED_H_

#include <benchmark/benchmark.h>

namespace spillway {

// Runs the benchmarks that the flags select. Returns the exit status: 2 for a
// flag that Google Benchmark does not have.
inline int RunRegistered(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_MICRO_RUN_REGISTERED_H_
