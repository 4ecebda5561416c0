// Kernels for float16 from kernels for float32, for tests.
#ifndef SPILLWAY_TESTS_SUPPORT_FLOAT16_KERNEL_H_
#define SPILLWAY_TESTS_SUPPORT_FLOAT16_KERNEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/kernel.h"

namespace spillway::testing {

// The CPU's kernel of `factory`. For a node with float16 tensors: its float32
// kernel between copies of the tensors. It must mutate no input.
absl::StatusOr<std::unique_ptr<Kernel>> PrepareWithFloat16(
    KernelFactory factory, const KernelRequest& node);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_FLOAT16_KERNEL_H_
