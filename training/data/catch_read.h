// Datasets of users may throw, and they run on threads of ours.
#ifndef SPILLWAY_TRAINING_DATA_CATCH_READ_H_
#define SPILLWAY_TRAINING_DATA_CATCH_READ_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace spillway {

// The result of `read`, which reads sample `index`. If it throws:
// RESOURCE_EXHAUSTED for a sample larger than the memory, else INTERNAL.
absl::Status CatchRead(int64_t index, absl::FunctionRef<absl::Status()> read);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_CATCH_READ_H_
