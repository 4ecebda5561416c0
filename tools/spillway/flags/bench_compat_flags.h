// Flags of tf_cnn_benchmarks for which Spillway supports only one choice. They
// exist so that command lines of tf_cnn_benchmarks run: a flag that asks for
// that choice is accepted, any other value is refused with the reason.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_BENCH_COMPAT_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_BENCH_COMPAT_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

struct BenchCompatFlags {
  std::string data_format = "NHWC";
  std::string data_name = "imagenet";
  std::string data_dir = {};
  std::string train_dir = {};
  std::string variable_update = {};  // empty: not given
  std::string local_parameter_device = {};
  int64_t num_gpus = 1;
  bool use_fp16 = false;
  int64_t summary_verbosity = 0;
  bool nodistortions = true;
  bool xla = false;
  bool xla_compile = false;
  bool eval = false;
};
void AddBenchCompatFlags(FlagSet& set, BenchCompatFlags& flags);

// Logs which flags have no effect. Errors: INVALID_ARGUMENT naming the flag and
// what to do instead.
absl::Status CheckBenchCompatFlags(const BenchCompatFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_BENCH_COMPAT_FLAGS_H_
