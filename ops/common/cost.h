// Cost rules shared by ops (see OpCost in graph/op_def.h).
#ifndef SPILLWAY_OPS_COMMON_COST_H_
#define SPILLWAY_OPS_COMMON_COST_H_

#include <functional>

#include "graph/op_def.h"

namespace spillway {

// Every input read once and every output written once.
int64_t TouchedBytes(const OpContext& node);

// TouchedBytes, and `flops` for each element of input 0.
std::function<OpCost(const OpContext&)> FlopsPerElement(double flops);

// For ops that touch nothing: their output is their input.
OpCost NoCost(const OpContext& node);

// FlopsPerElement(1).
OpCost ElementwiseCost(const OpContext& node);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_COST_H_
