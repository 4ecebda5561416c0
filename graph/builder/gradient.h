// Reverse-mode differentiation: appends the backward nodes of a scalar to the
// graph under construction.
//
// Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., chapter 3.
#ifndef SPILLWAY_GRAPH_BUILDER_GRADIENT_H_
#define SPILLWAY_GRAPH_BUILDER_GRADIENT_H_

#include <span>
#include <string>
#include <vector>

#include "graph/builder/builder.h"

namespace spillway {

// What an op's gradient function sees: one forward node, the gradients of its
// outputs, and a way to add nodes. Node names are
// <gradient scope>/<forward node>/<op>.
class GradientContext {
 public:
  GradientContext(NameScope scope, NodeId forward,
                  std::vector<Tensor> output_gradients,
                  std::vector<bool> wanted);

  // Attributes of the forward node; valid as long as the context.
  const Attributes& attributes() const { return attributes_; }
  int num_inputs() const;
  int num_outputs() const;
  // An index out of range is an error and returns an invalid Tensor.
  Tensor x(int input) const;    // input of the forward node
  Tensor y(int output) const;   // output of the forward node
  Tensor dy(int output) const;  // may be invalid: no gradient reaches it

  // Whether the gradient of `input` is needed. If it is not, the gradient may
  // be left invalid, which saves a costly node (a convolution for the images).
  bool wants(int input) const;

  Tensor Add(std::string op, std::vector<Tensor> inputs,
             Attributes attributes = {});
  // Returns all outputs; empty after an error.
  std::vector<Tensor> AddAll(std::string op, std::vector<Tensor> inputs,
                             Attributes attributes = {});

 private:
  // Remembers an error unless 0 <= index < size.
  bool IsInside(int index, size_t size, const char* what) const;

  NameScope scope_;
  NodeId forward_;
  Attributes attributes_;  // a copy: Add may move the node
  std::vector<Tensor> output_gradients_;
  std::vector<bool> wanted_;  // by input
};

// Calls the gradient function of the op of node `forward`. `output_gradients`:
// invalid where no gradient reaches the output. Returns one gradient for each
// input, invalid or of the input's type. Adds nodes in `scope`.
// A plan-only node gets a plan-only node <op>Grad, which reads the node's
// inputs and outputs and the gradients, and has the gradients of its inputs of
// reals. INVALID_ARGUMENT for a node whose op has no gradient. INTERNAL naming
// the op if its gradient function throws, returns the wrong number of
// gradients, or one of another type or another builder. Errors of that function
// are passed on.
absl::StatusOr<std::vector<Tensor>> OpGradients(
    const NameScope& scope, NodeId forward,
    std::vector<Tensor> output_gradients, std::vector<bool> wanted);

// d`loss`/dx for each x of `xs`, as tensors of the same types; an invalid
// Tensor where loss does not depend on x. `loss` must be a float32 scalar.
// Several gradients of one value are summed with AddN, in order of use. The
// gradients are multiplied by `loss_scale`, which must be positive, or by
// `fed_scale`, a float32 scalar, if that is valid. Errors
// (kept in the builder): INVALID_ARGUMENT naming all ops without a gradient of
// nodes between x and the loss; those of OpGradients.
std::vector<Tensor> AddGradients(const NameScope& scope, Tensor loss,
                                 std::span<const Tensor> xs,
                                 double loss_scale = 1, Tensor fed_scale = {});

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_BUILDER_GRADIENT_H_
