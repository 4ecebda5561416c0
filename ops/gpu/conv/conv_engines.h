// The engines of cuDNN's graph API that may compute a convolution, each with
// the choices ("knobs") that a heuristic made for it.
//
// An engine is called e.g. "engine 62 2:4 13:0": its number among those of its
// operation, and the number and value of each choice. They mean the same for as
// long as the library's version is the same.
//
// Source: NVIDIA, "cuDNN Developer Guide", version 9, "Graph API", and
// cudnn-frontend, for what is called in which order; PyTorch,
// aten/src/ATen/native/cudnn/Conv_v8.cpp, for numerical notes as a filter.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_ENGINES_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_ENGINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/gpu/conv/conv_graph.h"
#include "ops/gpu/conv/conv_way.h"
#include "ops/gpu/library/cudnn.h"
#include "ops/gpu/library/cudnn_graph.h"

namespace spillway {

// What a kernel may use. Operands are never rounded to a shorter dtype, nor
// sums.
struct ConvEngineRule {
  bool deterministic = true;
  bool tensor_cores = false;  // which round float32 to TF32
  bool transforms = true;     // Winograd's and Fourier's, of the operands
  int64_t most_workspace_bytes = int64_t{1} << 30;
};

struct ConvEngine {
  std::string name;
  int64_t workspace_bytes = 0;
  GraphDescriptor config;
  GraphDescriptor plan;  // finalized; refers to `config`
};

// Those that `rule` allows of what cuDNN's heuristics suggest, the one that it
// takes for the fastest first; none twice. Borrowed for the life of the
// process: a convolution's plan is made once for each device. A suggestion with
// which a call fails is passed over, and for that convolution not tried again.
//
// Cost: milliseconds, but about a second for each plan whose engine is compiled
// while the program runs. (cuDNN 9.19, asked about an H100, knows no other for
// a float32 filter gradient of shorter activations, and that one takes channels
// in multiples of 8.)
//
// Errors: RESOURCE_EXHAUSTED, and whatever prevents asking.
absl::StatusOr<std::vector<const ConvEngine*>> FindConvEngines(
    const LockedCudnn& cudnn, const ConvProblem& problem,
    const ConvEngineRule& rule, const ConvWanted& wanted);

// Destroys them all. No kernel that uses one may exist.
void ForgetConvEnginesForTest();

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_ENGINES_H_
