// The engines of cuDNN's graph API that can compute a convolution, each with
// the choices ("knobs") that a heuristic made for it.
//
// An engine is named, for example, "engine 62 2:4 13:0": its number among those
// of its operation, and the number and value of each choice. Names are stable
// for one version of the library.
//
// Source: NVIDIA, "cuDNN Developer Guide", version 9, "Graph API", and
// cudnn-frontend, for the order of calls; PyTorch,
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

// Which engines a kernel may use. Neither operands nor sums are ever rounded to
// a shorter dtype. So an engine must not keep parts of a 16-bit result's sum in
// memory: on an H200, engine 47 of cuDNN 9.19 with a sum in two parts missed a
// bfloat16 filter gradient by more than a unit in the last place.
struct ConvEngineRule {
  bool deterministic = true;
  // They round float32 to TF32.
  bool tensor_cores = false;
  bool transforms = true;  // Winograd or Fourier transforms of operands
  int64_t most_workspace_bytes = int64_t{1} << 30;
};

struct ConvEngine {
  std::string name;
  int64_t workspace_bytes = 0;
  GraphDescriptor config;
  GraphDescriptor plan;  // finalized; refers to `config`
};

// The engines that cuDNN's heuristics suggest and `rule` allows, in the
// heuristics' order, fastest first; without duplicates. Borrowed for the
// lifetime of the process: a convolution's plan is made once per device. A
// suggestion for which a call fails is skipped, and not tried again for this
// convolution.
//
// Cost: milliseconds, but about a second for each plan whose engine is compiled
// at run time. (For an H100, cuDNN 9.19 has only such an engine for a float32
// filter gradient of shorter activations, and it requires channels in multiples
// of 8.)
//
// Errors: RESOURCE_EXHAUSTED, and errors that prevent the search.
absl::StatusOr<std::vector<const ConvEngine*>> FindConvEngines(
    const LockedCudnn& cudnn, const ConvProblem& problem,
    const ConvEngineRule& rule, const ConvWanted& wanted);

// Destroys all of them. No kernel that uses one may exist.
void ForgetConvEnginesForTest();

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_ENGINES_H_
