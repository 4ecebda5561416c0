// Runs the kernel of an OpCase by itself on a device, with guard bytes around
// all of its memory.
#ifndef SPILLWAY_TESTS_OPS_RUN_ON_DEVICE_H_
#define SPILLWAY_TESTS_OPS_RUN_ON_DEVICE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "executor/device/device.h"
#include "executor/kernel.h"
#include "graph/op_def.h"
#include "tests/ops/op_case.h"
#include "tests/ops/run_op_case.h"

namespace spillway::testing {

// `in_place`: the output lies where the input does. Errors: the kernel's and
// the device's; INTERNAL when it writes outside its buffers.
absl::StatusOr<OpRun> RunOnDevice(Device& device, KernelFactory factory,
                                  const OpCase& op_case,
                                  std::optional<BufferPair> in_place = {});

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_RUN_ON_DEVICE_H_
