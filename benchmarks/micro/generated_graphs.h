// Training graphs of any size, to show how a pass scales with its graph.
#ifndef SPILLWAY_BENCHMARKS_MICRO_GENERATED_GRAPHS_H_
#define SPILLWAY_BENCHMARKS_MICRO_GENERATED_GRAPHS_H_

#include <cstdint>
#include <string>

#include "graph/graph.h"
#include "lms/options.h"

namespace spillway {

// Tiny convolutions one after another, or each with a shortcut around it.
enum class Topology : uint8_t { kChain, kResidual };
std::string Name(Topology topology);

// Forward and backward phase and update, with `nodes` nodes or slightly more.
// Every activation has two channels of image_size x image_size pixels.
Graph GraphOfSize(Topology topology, int64_t nodes, int64_t image_size = 4);

// The training step of a network of the zoo, with momentum.
Graph NetworkGraph(const std::string& model, int64_t batch_size);

// Moves every tensor that lives long enough; v2 with two levels ahead.
LmsOptions SwapAll(LmsMode mode);

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_MICRO_GENERATED_GRAPHS_H_
