// Finds KernelRequest::algorithm among the algorithms that a kernel lists.
#ifndef SPILLWAY_OPS_COMMON_ALGORITHM_NAMED_H_
#define SPILLWAY_OPS_COMMON_ALGORITHM_NAMED_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/kernel.h"

namespace spillway {

// Index in `list`, which must not be empty; 0 if the name is empty. Errors:
// INVALID_ARGUMENT with the known names.
absl::StatusOr<size_t> AlgorithmNamed(std::string_view name,
                                      const std::vector<KernelAlgorithm>& list);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_ALGORITHM_NAMED_H_
