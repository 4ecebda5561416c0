// OpDef: what is known about an op without running it.
#ifndef SPILLWAY_GRAPH_OP_DEF_H_
#define SPILLWAY_GRAPH_OP_DEF_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway {

class GradientContext;  // graph/builder/gradient.h
class Tensor;           // graph/builder/tensor.h

// A node before it exists, as shape inference sees it. Borrowed for the call.
struct InferContext {
  const Attributes& attributes;
  std::span<const TensorType> inputs = {};
};

// The same with known outputs, as cost and in-place rules see it.
struct OpContext {
  const Attributes& attributes;
  std::span<const TensorType> inputs = {};
  std::span<const TensorType> outputs = {};
};

// What computes a node's flops. Kernels of one kind reach about the same
// fraction of a device's peak.
enum class Arithmetic {
  kGeneral,               // matrix products, element-wise work
  kPointwiseConvolution,  // a window of one element: a matrix product
  kWinogradConvolution,   // 3 x 3 or 5 x 5, stride 1: Winograd's algorithm
  kOtherConvolution,
};

// Work of one node: floating-point operations (a multiply-add counts as two) of
// the direct algorithm if several exist, and the bytes that a kernel without
// cache misses moves.
struct OpCost {
  double flops = 0;
  int64_t bytes = 0;
  Arithmetic arithmetic = Arithmetic::kGeneral;
};

// Output `output` may be written over the bytes of input `input`.
struct BufferPair {
  int input = 0;
  int output = 0;
};

// The elements of input `input` are indices for the kernel: class labels, rows
// of a table. Each must be in [0, limit).
struct IndexInput {
  int input = 0;
  // Computed from the node's types and attributes, which `infer` has accepted.
  // Positive. An exception becomes INTERNAL.
  std::function<int64_t(const InferContext&)> limit = nullptr;
};

// How an output may be computed a second time within a step (recomputation).
enum class RecomputeRule : uint8_t {
  kSame,    // by the same op: the outputs are a function of the attributes, the
            // inputs, the session's seed and the step number only
  kDerive,  // only by the node that OpDef::derive gives
  kNever,
};

// An input of a derived node: an input of the original node, or one of its
// outputs.
struct DerivedInput {
  bool is_output = false;
  int index = 0;
};

// A node with one output, which is bitwise identical to an output of its
// original.
struct DerivedNode {
  std::string op = {};
  Attributes attributes = {};
  std::vector<DerivedInput> inputs = {};
};

struct OpDef {
  std::string name = {};

  // Names of inputs and outputs, at least one output. With `variadic`, the last
  // input may be repeated one or more times. The last `optional_inputs` inputs
  // may be left out; the last outputs may be left out too, as `infer` decides.
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  bool variadic = false;
  int optional_inputs = 0;

  // With groups, the first `group_inputs` inputs may be repeated, group after
  // group, before the other inputs, which all groups share. Each group has its
  // own outputs; `outputs`, `alias`, `in_place` and `mutates` describe the
  // first group (graph/input_groups.h has all groups). 0: no groups.
  int group_inputs = 0;

  // Every attribute the op reads; others are refused by name.
  std::vector<std::string> attributes = {};

  // Output types from input types and attributes. Checks every attribute and
  // shape: a kernel can be built for every node that passes. Errors:
  // INVALID_ARGUMENT with the expected and the actual value (the caller
  // prepends the node's name). An exception, no types, or too many types become
  // INTERNAL.
  std::function<absl::StatusOr<std::vector<TensorType>>(const InferContext&)>
      infer = nullptr;

  // Gradients with respect to each input, in order; an invalid Tensor for an
  // input that has none (labels, masks). Null: the op stops gradients. An
  // exception becomes INTERNAL, as does a wrong number or type of gradients.
  std::function<absl::StatusOr<std::vector<Tensor>>(GradientContext&)>
      gradient = nullptr;

  // Null: no flops, each input read and each output written once.
  std::function<OpCost(const OpContext&)> cost = nullptr;

  // The output *is* the input's bytes (Identity, Reshape, Apply*: output 0 is
  // the updated variable). Never ignored.
  std::vector<BufferPair> alias = {};

  // The output may overwrite the input's bytes if no later node reads the input
  // (Relu, Add). The planner decides. Null function: always legal.
  std::vector<BufferPair> in_place = {};
  std::function<bool(const OpContext&)> in_place_legal = nullptr;
  // Several outputs may overwrite inputs in one run, each a different one.
  // False: at most one output does.
  bool in_place_together = false;

  // Inputs that the op overwrites (variables and optimizer slots). Every other
  // reader of such a value must be ordered before or after this node.
  std::vector<int> mutates = {};

  // An op with random or other hidden state says kNever or kDerive. Nodes that
  // overwrite inputs, resident nodes, feeds and swaps are never recomputed,
  // whatever the rule.
  RecomputeRule recompute = RecomputeRule::kSame;
  // With kDerive: how to compute output `output` again; nullopt if that is
  // impossible. The node's types and attributes have been accepted by `infer`.
  std::function<std::optional<DerivedNode>(const OpContext&, int output)>
      derive = nullptr;

  // Inputs of int32, int64 or uint8 that are indices. A session checks their
  // feeds before a step runs, with the same error on every device
  // (executor/session/feed_limits.h). Indices that the graph computes reach the
  // kernel unchecked: the kernel must not read or write out of bounds for any
  // value. A repeated input, or an input of an op with groups, cannot be listed
  // here.
  std::vector<IndexInput> index_inputs = {};

  // Inputs that may be parts of their values (graph/parts.h); a repeated input
  // counts once. The kernels for CPUs read them where they lie, at
  // KernelRequest::row_stride; for other devices they are copied first.
  std::vector<int> part_inputs = {};

  // The node represents bytes that outlive a step (Variable) or never change
  // (Const): its output is resident and no kernel runs for it.
  bool resident = false;
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_OP_DEF_H_
