// cuBLASLt on host memory: stores the attributes of its descriptors, refuses
// inconsistent ones, and computes naively from the descriptors alone.
#ifndef SPILLWAY_TESTS_OPS_GPU_FAKE_CUBLAS_LT_H_
#define SPILLWAY_TESTS_OPS_GPU_FAKE_CUBLAS_LT_H_

#include "ops/gpu/library/cublas_lt.h"
#include "tests/ops/gpu/fake_library.h"

namespace spillway::testing {

struct FakeCublasLtState : FakeLibrary {
  int algorithms = 1;           // found by the heuristic; each needs 256 bytes
                                // more workspace than the last
  int unusable_algorithm = -1;  // found, but marked as unusable
  int algorithm = -1;           // of the last computation
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;  // likewise
  uint64_t most_workspace_bytes = 0;  // last limit for the heuristic
};

// The process-wide state. One thread at a time may call it.
FakeCublasLtState& FakeCublasLt();
const CublasLtApi& FakeCublasLtApi();

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_FAKE_CUBLAS_LT_H_
