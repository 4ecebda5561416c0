// A header for CUDA sources with an include that goes upwards, for the test of
// the check itself.
#ifndef SPILLWAY_OPS_GPU_UPWARD_CUH_
#define SPILLWAY_OPS_GPU_UPWARD_CUH_

#include "tests/support/cuda_emulation.h"

#endif  // SPILLWAY_OPS_GPU_UPWARD_CUH_
