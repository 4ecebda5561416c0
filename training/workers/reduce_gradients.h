// The gradients of all ranks of a run, added in the graph.
//
//   backward phase   g3 ---- g2 ---- g1
//                     |        \_____/
//   AllReduce      bucket 0 --> bucket 1         in this order on all ranks
//                     |            |
//   updates           w3         w2, w1
//
// Each bucket is an AllReduce node (ops/collective/all_reduce.h), or one of
// sparse_all_reduce.h with GradientReduction::sparse, which the plan runs on
// the communication lane while the backward phase goes on. Updates
// wait for the last gradient of the backward phase: one that ran earlier would
// make the compute lane wait for the network.
#ifndef SPILLWAY_TRAINING_WORKERS_REDUCE_GRADIENTS_H_
#define SPILLWAY_TRAINING_WORKERS_REDUCE_GRADIENTS_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder/builder.h"
#include "graph/graph.h"
#include "training/optimizer.h"
#include "training/variable_updates.h"

namespace spillway {

struct ReducedGradients {
  std::vector<VariableGradient> gradients = {};  // in the order given
  // The nodes of the backward phase that updates are to wait for.
  std::vector<Tensor> before_updates = {};
};

// Adds the nodes under `scope`/all_reduce, and the residuals of sparse
// gradients as all_reduce/residuals/<variable>/residual. Errors (kept in the
// builder): INVALID_ARGUMENT for settings out of range.
ReducedGradients ReduceGradients(const NameScope& scope,
                                 std::span<const VariableGradient> gradients,
                                 const GradientReduction& reduction);

// The gradients of each bucket, by their places, in the order in which the
// backward phase makes them (PlanBuckets).
std::vector<std::vector<size_t>> BucketsOf(const Graph& graph,
                                           std::span<const Tensor> gradients,
                                           const BucketSpec& spec);

// A constant factor on what a rank sends.
Tensor ConstantWeight(const NameScope& scope, double value);

// The variables of a graph whose values are each rank's own, and are lost
// where those of another rank replace them: residuals, and what is averaged in
// turn, with its slots. By name. `updates`: the scope of Minimize.
std::vector<std::string> VariablesOfRanks(const Graph& graph,
                                          const OpRegistry& ops,
                                          std::string_view updates);

// The variables of a graph that a step changes otherwise than by an update from
// gradients: running statistics. They differ between ranks, since each rank
// sees its own rows. By name. `updates`: the scope of Minimize.
std::vector<std::string> StatisticsOf(const Graph& graph, const OpRegistry& ops,
                                      std::string_view updates);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_WORKERS_REDUCE_GRADIENTS_H_
