// Flags of TFLMS's own auto-tuning (lms/tflms/search.h). Names and units are
// those of its properties and environment variables.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_TFLMS_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_TFLMS_FLAGS_H_

#include <cstdint>
#include <optional>

#include "lms/tflms/limits.h"
#include "tools/spillway/flags/flags.h"

namespace spillway {

struct TflmsFlags {
  std::optional<double> autotune_gpu_mem = {};  // GiB, > 0
  double sim_mem_ratio = 0.9;                   // in (0, 1]
  int64_t host_mem_limit_mb = 65536;            // 2^20 bytes each, >= 0
};
void AddTflmsFlags(FlagSet& flags, TflmsFlags& tflms);

// `device_bytes`: the device's memory, used without --lms_autotune_gpu_mem.
TflmsLimits MakeTflmsLimits(const TflmsFlags& flags, int64_t device_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_TFLMS_FLAGS_H_
