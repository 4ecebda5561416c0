// The graph that a command looks at without running it: a model of the zoo or a
// graph file.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_GRAPH_SOURCE_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_GRAPH_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "graph/graph.h"
#include "models/zoo.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/model_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tuner/max_batch.h"
#include "tuner/step_report.h"

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

// The step as the library takes it.
Program ProgramOf(const SourceGraph& source);

// A model goes through the passes for the device of `step`. Errors:
// INVALID_ARGUMENT naming the flags when neither or both are given; what the
// builder or the reader says.
absl::StatusOr<SourceGraph> LoadGraph(const GraphSourceFlags& source,
                                      const StepOptions& step);

// Where a search of batch sizes starts: --batch_size, or the model's default.
// Errors: INVALID_ARGUMENT naming --find_max_batch without a model.
absl::StatusOr<int64_t> FirstBatch(const ModelFlags& model);

// The step of the model at that batch size instead of the flags'.
absl::StatusOr<SourceGraph> LoadBatch(const GraphSourceFlags& source,
                                      const StepOptions& step,
                                      int64_t batch_size);

// The largest batch size of the model, searched from --batch_size or the
// model's default on. Errors: as FirstBatch and FindMaxBatch.
absl::StatusOr<MaxBatch> FindMaxBatchOf(const GraphSourceFlags& source,
                                        const StepOptions& step);

// What reports show of a source: the batch size and a model's precision.
ReportHead HeadOf(const GraphSourceFlags& flags, const SourceGraph& source);

// The file --graph. Errors: what ReadGraphFile says, naming the flag.
absl::StatusOr<Graph> LoadGraphFile(const std::string& path);

// The values that --fetch names. Errors: INVALID_ARGUMENT naming the flag.
absl::StatusOr<std::vector<ValueId>> FindFetches(
    const std::vector<std::string>& names, const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_GRAPH_SOURCE_H_
