// cuDNN on host memory: stores the attributes of its descriptors, refuses
// inconsistent ones, and computes naively from the descriptors alone. Its
// heuristics first suggest what must not be chosen: algorithms and engines that
// cannot be used, are not deterministic, or need too much workspace.
#ifndef SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_H_
#define SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ops/gpu/library/cudnn.h"
#include "tests/ops/gpu/fake_library.h"

namespace spillway::testing {

// A suggestion of the heuristics, in any direction.
struct FakeSuggestion {
  int algorithm = 1;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  bool is_said_deterministic = true;
  size_t more_workspace_bytes = 0;  // than the fake's workspace_bytes
  std::optional<cudnnMathType_t> math = std::nullopt;  // none: the default
};

// An engine of the graph API, in any direction.
struct FakeEngine {
  int64_t index = 0;
  std::vector<std::pair<cudnnBackendKnobType_t, int64_t>> choices = {};
  std::vector<cudnnBackendNumericalNote_t> notes = {};
  cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;  // the mode that suggests it
  cudnnStatus_t plan_status = CUDNN_STATUS_SUCCESS;
  size_t more_workspace_bytes = 0;  // than the fake's workspace_bytes
};

struct FakeCudnnState : FakeLibrary {
  std::vector<FakeSuggestion> suggestions = {};  // empty: see above
  // none: those of fake_cudnn_graph.cc; empty: the graph API finds nothing.
  std::optional<std::vector<FakeEngine>> engines = std::nullopt;
  // The status of the failing call of the graph API.
  cudnnStatus_t failing_status = CUDNN_STATUS_INTERNAL_ERROR;
  bool computes_only_deterministically = true;  // other algorithms fail
  int algorithm = -1;                           // of the last computation
  int64_t engine = -1;                          // likewise; one of the two
  int64_t plans = 0;                            // of engines, also failed ones
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;    // of the last computation
};

// The process-wide state. One thread at a time may call it.
FakeCudnnState& FakeCudnn();
const CudnnApi& FakeCudnnApi();

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_H_
