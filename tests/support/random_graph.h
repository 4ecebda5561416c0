// Random plan-only training graphs: equal options give equal graphs.
#ifndef SPILLWAY_TESTS_SUPPORT_RANDOM_GRAPH_H_
#define SPILLWAY_TESTS_SUPPORT_RANDOM_GRAPH_H_

#include <cstdint>

#include "graph/graph.h"

namespace spillway::testing {

struct RandomGraphOptions {
  uint64_t seed = 0;
  int forward_nodes = 20;
  // A forward node also reads a random earlier value.
  double skip_probability = 0.2;
  // A forward node starts from a random earlier value instead of the last one;
  // the loss reads the end of every branch.
  double branch_probability = 0.1;
  // A forward node has two or three outputs.
  double multi_output_probability = 0.1;
  // A forward node has a variable, and so an update.
  double variable_probability = 0.5;
  // A forward node reads a value through its own Identity or Reshape, some of
  // them of a variable; a gradient node reads a forward value through one among
  // the gradients.
  double alias_probability = 0;
};

// A forward part (input, f0, f1, ..., w0, ..., loss), its gradients in
// opt/gradients/, and updates in opt/update/. A gradient node reads the
// gradients of all uses of its node's outputs and a random non-empty selection
// of its node's inputs and outputs; it has an output for each input of its
// node. No op name is that of a real op, except for inputs, variables, losses
// and aliases (a0, ...; opt/gradients/again0, ...).
Graph RandomTrainingGraph(const RandomGraphOptions& options);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_RANDOM_GRAPH_H_
