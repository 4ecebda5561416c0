// KernelRequest::algorithm among those that a kernel lists.
#ifndef SPILLWAY_OPS_COMMON_ALGORITHM_NAMED_H_
#define SPILLWAY_OPS_COMMON_ALGORITHM_NAMED_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/kernel.h"

namespace spillway {

// Its place in `list`, which is not empty; the first for no name. Errors:
// INVALID_ARGUMENT with the names that there are.
absl::StatusOr<size_t> AlgorithmNamed(std::string_view name,
                                      const std::vector<KernelAlgorithm>& list);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_ALGORITHM_NAMED_H_
