// What every backend of Communicator must do. Each rank calls the same function
// with its own communicator, in a thread or a process.
#ifndef SPILLWAY_TESTS_COMM_CONFORMANCE_H_
#define SPILLWAY_TESTS_COMM_CONFORMANCE_H_

#include "absl/status/status.h"
#include "comm/communicator.h"

namespace spillway::testing {

// All operations, types and sizes (0, 1, odd, large), against a reference that
// each rank computes by itself. The first difference is an INTERNAL error.
absl::Status CheckCollectives(Communicator& communicator);

// An all-reduce of random floats: every rank has the same bits, close to the
// sum; `is_ordered`: those of the sum in the order of the ranks.
absl::Status CheckSameBits(Communicator& communicator, bool is_ordered);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_COMM_CONFORMANCE_H_
