#include "tools/spillway/flags/tflms_flags.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>

#include "fmt/format.h"

namespace spillway {
namespace {

// A number above 0 and at most `most`.
double ParsePositive(const std::string& name, const std::string& text,
                     double most) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  const bool is_number = result.ec == std::errc() && result.ptr == end;
  if (is_number && number > 0 && number <= most) return number;
  RefuseFlag(name, fmt::format("\"{}\" is not a number above 0 and at most {}",
                               text, most));
}

double ParseGib(const std::string& name, const std::string& text) {
  return ParsePositive(name, text, 0x1p32);  // bytes are below 2^62
}

double ParseRatio(const std::string& name, const std::string& text) {
  return ParsePositive(name, text, 1);
}

}  // namespace

void AddTflmsFlags(FlagSet& flags, TflmsFlags& tflms) {
  flags.BeginGroup("TFLMS's auto-tuning (--strategy tflms)");
  flags.Add("--lms_autotune_gpu_mem", tflms.autotune_gpu_mem, ParseGib)
      ->type_name("GiB")
      ->description("memory of the device to tune for; default: the device's");
  flags.Add("--lms_sim_mem_ratio", tflms.sim_mem_ratio, ParseRatio)
      ->type_name("X")
      ->description(
          "part of that memory, without variables, that tensors may take; "
          "default 0.9");
  flags.Int("--lms_host_mem_limit_mb", tflms.host_mem_limit_mb,
            {.help = "warn if copies take more host memory than this, in MiB; "
                     "default 65536",
             .max = std::numeric_limits<int64_t>::max() >> 20});
}

TflmsLimits MakeTflmsLimits(const TflmsFlags& flags, int64_t device_bytes) {
  if (flags.autotune_gpu_mem) {
    device_bytes =
        static_cast<int64_t>(std::ceil(*flags.autotune_gpu_mem * 0x1p30));
  }
  return {.device_bytes = device_bytes,
          .memory_ratio = flags.sim_mem_ratio,
          .host_bytes = flags.host_mem_limit_mb << 20};
}

}  // namespace spillway
