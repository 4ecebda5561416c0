// Runs the kernel of an OpCase alone on a device, with guard bytes around all
// of its memory.
#ifndef SPILLWAY_TESTS_OPS_GPU_RUN_ON_DEVICE_H_
#define SPILLWAY_TESTS_OPS_GPU_RUN_ON_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/nccl/nccl_api.h"
#include "executor/device/device.h"
#include "tests/ops/cases/op_case.h"
#include "tests/ops/cases/run_op_case.h"

namespace spillway::testing {

// `options.factory` makes kernels for the device. `communicator`: of a single
// rank, with streams; null: not for collectives. Errors: the kernel's and the
// device's; INTERNAL if it writes outside its buffers.
absl::StatusOr<OpRun> RunOnDevice(Device& device, const OpCase& op_case,
                                  const RunOpOptions& options,
                                  Communicator* communicator);

// A single rank, whose collectives on the current GPU are `nccl`'s.
absl::StatusOr<std::unique_ptr<Communicator>> NewSingleRank(NcclApi& nccl);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_RUN_ON_DEVICE_H_
