#include "executor/plan/compile_options.h"

#include <algorithm>

namespace spillway {

std::optional<int64_t> TightestDeviceBudget(const CompileOptions& options) {
  const std::optional<int64_t>& within_bytes = options.placement.within_bytes;
  if (!options.device_budget_bytes || !within_bytes) {
    return within_bytes ? within_bytes : options.device_budget_bytes;
  }
  return std::min(*options.device_budget_bytes, *within_bytes);
}

}  // namespace spillway
