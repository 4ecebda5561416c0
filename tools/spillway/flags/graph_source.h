// The graph that a command examines without running it: a model of the zoo or a
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
#include "tools/spillway/flags/exchange_flags.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/model_flags.h"
#include "tools/spillway/flags/rate_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tuner/max_batch.h"
#include "tuner/step_report.h"

namespace spillway {

struct GraphSourceFlags {
  ModelFlags model = {};
  OptimizerFlags optimizer = {};
  LrPolicy policy = {};     // only whether it is constant has an effect
  int64_t channels = 0;     // 0: the model's default
  int64_t num_classes = 0;  // 0: the model's default
  bool forward_only = false;
  std::string graph = {};
  // Of the run that has this step: gradients of a model are added over them, as
  // `exchange` says.
  int64_t ranks = 1;
  ExchangeFlags exchange = {};
  PlaceMode place = PlaceMode::kOff;
};
void AddGraphSourceFlags(FlagSet& flags, GraphSourceFlags& source);

struct SourceGraph {
  Graph graph = {};
  // Of a model: loss and accuracy, as `train` fetches them. Of a file: empty.
  std::vector<ValueId> fetches = {};
  int64_t batch_size = 0;                // of a file: 0 (unknown)
  std::optional<ModelGraph> model = {};  // of a file: nullopt
  PlacementReport placement = {};        // what is on the host
  std::vector<std::string> notes = {};   // of OnnxNetwork
};

// The step as the library's argument.
Program ProgramOf(const SourceGraph& source);

// Runs the passes for the device of `step` on a model, then places nodes on the
// host. Logs the notes of an ONNX model. Errors: INVALID_ARGUMENT naming the
// flags if none or both are given, or if a file for several ranks has no
// collective; errors of the builder, the reader or PlaceProgram.
absl::StatusOr<SourceGraph> LoadGraph(const GraphSourceFlags& source,
                                      const StepOptions& step);

// The batch size at which a search starts: --batch_size, or the model's
// default. Errors: INVALID_ARGUMENT naming --find_max_batch without a model.
absl::StatusOr<int64_t> FirstBatch(const ModelFlags& model);

// The step of the model with `batch_size` instead of the flag's value, for a
// search: it logs nothing.
absl::StatusOr<SourceGraph> LoadBatch(const GraphSourceFlags& source,
                                      const StepOptions& step,
                                      int64_t batch_size);

// The largest batch size of the model that fits; the search starts at
// --batch_size or the model's default. Errors: as FirstBatch and FindMaxBatch.
absl::StatusOr<MaxBatch> FindMaxBatchOf(const GraphSourceFlags& source,
                                        const StepOptions& step);

// The facts that reports show: the batch size and a model's precision.
ReportHead HeadOf(const GraphSourceFlags& flags, const SourceGraph& source);

// Reads the file --graph. Errors: those of ReadGraphFile, naming the flag.
absl::StatusOr<Graph> LoadGraphFile(const std::string& path);

// The values that --fetch names. Errors: INVALID_ARGUMENT naming the flag.
absl::StatusOr<std::vector<ValueId>> FindFetches(
    const std::vector<std::string>& names, const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_GRAPH_SOURCE_H_
