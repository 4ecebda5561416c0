// Tests of kernels that call cuDNN and cuBLASLt, with fakes that are reset at
// the beginning of each test.
#ifndef SPILLWAY_TESTS_OPS_GPU_LIBRARIES_FIXTURE_H_
#define SPILLWAY_TESTS_OPS_GPU_LIBRARIES_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "gtest/gtest.h"
#include "tests/ops/cases/op_case.h"
#include "tests/ops/cases/run_op_case.h"

namespace spillway::testing {

// Resets the fakes to their defaults, without handles and engines.
void ResetFakes();

// The case of this name among those of all ops.
OpCase CaseNamed(const std::string& name);

// The choices of a KernelRequest.
struct KernelChoice {
  MathOptions math = {};
  std::string algorithm = {};
};

class GpuLibrariesTest : public ::testing::Test {
 protected:
  void SetUp() override { ResetFakes(); }
  void TearDown() override { ResetFakes(); }

  static absl::Status Run(const std::string& name,
                          const MathOptions& math = {});

  static absl::StatusOr<std::unique_ptr<Kernel>> Prepare(
      const OpCase& op_case, const KernelChoice& choice = {});

  static int64_t WorkspaceBytes(const std::string& name);

  // Names of the algorithms that the kernel lists.
  static std::vector<std::string> Names(const std::string& name,
                                        const MathOptions& math = {});

  // From now on only cuDNN's legacy API computes convolutions.
  static void OfferNoEngines();
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_LIBRARIES_FIXTURE_H_
