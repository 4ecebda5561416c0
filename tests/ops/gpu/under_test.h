// The GPU that gpu/suite.cc tests; it differs between the programs:
//   device_test.cc      a real one, if there is one
//   kernels_test.cc    a fake one; CUDA sources run as fibers
//   libraries_test.cc  fakes of cuDNN and cuBLASLt on host memory
#ifndef SPILLWAY_TESTS_OPS_GPU_UNDER_TEST_H_
#define SPILLWAY_TESTS_OPS_GPU_UNDER_TEST_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "graph/op_def.h"
#include "tests/ops/cases/op_case.h"
#include "tests/ops/cases/run_op_case.h"

namespace spillway::testing {

// UNAVAILABLE if there is none.
absl::Status GpuStatus();

// Its kernel for an op; null: none, or not tested by this program.
KernelFactory GpuFactory(const std::string& op);

// Runs the kernel of a case; options.factory is set to GpuFactory's.
absl::StatusOr<OpRun> RunOnGpu(const OpCase& op_case,
                               RunOpOptions options = {});

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_UNDER_TEST_H_
