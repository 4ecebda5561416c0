// Ranks that each train their own variables, and average a part of them after
// every update:
//
//   update   0        1        2        3
//   turn     0        1        2        0         of three parts
//   w1, w2   averaged own      own      averaged
//   w3       own      averaged own      own
//   w4, w5   own      own      averaged own
//
// Source: backward_and_partial_update of Apache SINGA's DistOpt.
#ifndef SPILLWAY_TRAINING_WORKERS_AVERAGE_IN_TURN_H_
#define SPILLWAY_TRAINING_WORKERS_AVERAGE_IN_TURN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/builder/builder.h"
#include "training/optimizer.h"

namespace spillway {

// After an update.
struct VariableAfterUpdate {
  Tensor gradient = {};
  Tensor updated = {};
  std::vector<Tensor> slots = {};
};

// Adds an AllReduceInTurn node for each part under `scope`/average. Errors
// (kept in the builder): INVALID_ARGUMENT for buckets out of range.
void AverageInTurn(const NameScope& scope,
                   std::span<const VariableAfterUpdate> variables,
                   const AveragingInTurn& averaging);

// The parts that a graph averages.
int64_t CountParts(const Graph& graph);

// The turns of the updates of a training.
struct AveragingTurns {
  int64_t parts = 0;
  // Every so many updates, all parts are averaged; 0: never.
  int64_t full_every = 0;

  // -1 where all parts are.
  int32_t TurnOf(int64_t update) const {
    if (full_every > 0 && (update + 1) % full_every == 0) return -1;
    return static_cast<int32_t>(update % parts);
  }
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_WORKERS_AVERAGE_IN_TURN_H_
