// Reverse-mode differentiation: appends the backward nodes of a scalar to the
// graph that is being built.
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

  // Of the forward node; valid as long as the context.
  const Attributes& attributes() const { return attributes_; }
  int num_inputs() const;
  int num_outputs() const;
  // One that the node does not have is an error and an invalid Tensor.
  Tensor x(int input) const;    // input of the forward node
  Tensor y(int output) const;   // output of the forward node
  Tensor dy(int output) const;  // may be invalid: no gradient reaches it

  // Whether anybody needs the gradient of `input`. One that is not wanted may
  // be left invalid, which spares a costly node (a convolution of the images).
  bool wants(int input) const;

  Tensor Add(std::string op, std::vector<Tensor> inputs,
             Attributes attributes = {});
  // All outputs; none after an error.
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

// What the op of node `forward` says its input gradients are, given those of
// its outputs (invalid: none reaches it): one for each input, invalid or of the
// input's type. Adds nodes in `scope`. Only for a node whose op has a gradient
// (INVALID_ARGUMENT otherwise). Errors: INTERNAL naming the op when its
// gradient function throws, or returns another number of gradients, or one of
// another type or another builder; whatever that function says.
absl::StatusOr<std::vector<Tensor>> OpGradients(
    const NameScope& scope, NodeId forward,
    std::vector<Tensor> output_gradients, std::vector<bool> wanted);

// d`loss`/dx for each x of `xs`, as tensors of the same types; an invalid
// Tensor where loss does not depend on x. `loss` must be a float32 scalar.
// Several gradients of one value are summed with AddN, in order of use. With
// `loss_scale`, which must be positive, they are those of loss_scale loss.
// Errors (kept in the builder): INVALID_ARGUMENT naming the node whose op is
// not differentiable on the way; those of OpGradients.
std::vector<Tensor> AddGradients(const NameScope& scope, Tensor loss,
                                 std::span<const Tensor> xs,
                                 double loss_scale = 1);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_BUILDER_GRADIENT_H_
