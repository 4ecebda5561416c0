// The graph that a command looks at without running it: a model of the zoo or a
// graph file.
#ifndef SPILLWAY_TOOLS_SPILLWAY_GRAPH_SOURCE_H_
#define SPILLWAY_TOOLS_SPILLWAY_GRAPH_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "models/zoo.h"
#include "tools/spillway/device_flags.h"
#include "tools/spillway/flags.h"
#include "tools/spillway/model_flags.h"

namespace spillway {

struct GraphSourceFlags {
  ModelFlags model = {};
  OptimizerFlags optimizer = {};
  int64_t channels = 0;     // 0: the model's default
  int64_t num_classes = 0;  // the same
  bool forward_only = false;
  std::string graph = {};
};
void AddGraphSourceFlags(FlagSet& flags, GraphSourceFlags& source);

struct SourceGraph {
  Graph graph = {};
  // Of a model: what `train` fetches, loss and accuracy. Of a file: none.
  std::vector<ValueId> fetches = {};
  int64_t batch_size = 0;                // of a file: 0, unknown
  std::optional<ModelGraph> model = {};  // of a file: none
};

// A model goes through the passes for `device`. Errors: INVALID_ARGUMENT naming
// the flags when neither or both are given; what the builder or the reader
// says.
absl::StatusOr<SourceGraph> LoadGraph(const GraphSourceFlags& source,
                                      const DeviceFlags& device);

// Where a search of batch sizes starts: --batch_size, or the model's default.
// Errors: INVALID_ARGUMENT naming --find_max_batch without a model.
absl::StatusOr<int64_t> FirstBatch(const ModelFlags& model);

// The file --graph. Errors: what ReadGraphFile says, naming the flag.
absl::StatusOr<Graph> LoadGraphFile(const std::string& path);

// The values that --fetch names. Errors: INVALID_ARGUMENT naming the flag.
absl::StatusOr<std::vector<ValueId>> FindFetches(
    const std::vector<std::string>& names, const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_GRAPH_SOURCE_H_
