// The step that `spillway run` runs, whatever file it comes from.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_RUN_STEP_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_RUN_STEP_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/feed.h"
#include "graph/graph.h"
#include "tools/spillway/command/run_command.h"
#include "training/safetensors.h"

namespace spillway {

struct RunStep {
  Graph graph = {};
  std::vector<std::string> names = {};  // of the fetches
  std::vector<ValueId> fetches = {};
  TensorMap tensors = {};    // owns the bytes of `feeds`
  Feeds feeds = {};          // of Placeholders
  TensorMap variables = {};  // values that replace the initial ones
};

// Of --graph. Errors name the flag.
absl::StatusOr<RunStep> LoadGraphStep(const RunFlags& flags);

// Of --onnx: inference, with the model's weights. `finish` gives a fetched
// tensor, by its place, the model's type. Errors name the flag.
struct OnnxStep {
  RunStep step = {};
  std::function<HostTensor(size_t fetch, HostTensor tensor)> finish = {};
};
absl::StatusOr<OnnxStep> LoadOnnxStep(const RunFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_RUN_STEP_H_
