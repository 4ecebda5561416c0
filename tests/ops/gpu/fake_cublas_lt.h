// cuBLASLt on host memory: keeps what its descriptors are given, refuses what
// does not fit together, and computes naively from the descriptors alone.
#ifndef SPILLWAY_TESTS_OPS_GPU_FAKE_CUBLAS_LT_H_
#define SPILLWAY_TESTS_OPS_GPU_FAKE_CUBLAS_LT_H_

#include "ops/gpu/library/cublas_lt.h"
#include "tests/ops/gpu/fake_library.h"

namespace spillway::testing {

struct FakeCublasLtState : FakeLibrary {
  int algorithms = 1;           // that the heuristic finds; each needs 256
                                // bytes of workspace more than the one before
  int unusable_algorithm = -1;  // that it finds and marks as such
  int algorithm = -1;           // of the last computation
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;  // likewise
  uint64_t most_workspace_bytes = 0;  // what the heuristic was told last
};

// The one of the process. Its calls are made by one thread at a time.
FakeCublasLtState& FakeCublasLt();
const CublasLtApi& FakeCublasLtApi();

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_FAKE_CUBLAS_LT_H_
