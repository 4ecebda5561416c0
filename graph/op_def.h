// OpDef: what the engine knows of an op without running it.
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

// A node before it exists: what shape inference sees. Borrowed for the call.
struct InferContext {
  const Attributes& attributes;
  std::span<const TensorType> inputs = {};
};

// The same with the outputs known: what cost and in-place rules see.
struct OpContext {
  const Attributes& attributes;
  std::span<const TensorType> inputs = {};
  std::span<const TensorType> outputs = {};
};

// What computes a node's flops. The kernels of one kind reach about the same
// part of a device's peak.
enum class Arithmetic {
  kGeneral,               // matrix products, element-wise work
  kPointwiseConvolution,  // a window of one element: a matrix product
  kWinogradConvolution,   // 3 x 3 or 5 x 5, stride 1: Winograd's algorithm
  kOtherConvolution,
};

// Work of one node: floating-point operations (a multiply-add is two), by the
// direct algorithm if there are several, and the bytes that a kernel without
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

// The elements of input `input` are numbers by which the kernel indexes:
// classes of a row (labels), rows of a table. Each must be in [0, limit).
struct IndexInput {
  int input = 0;
  // From the node's types and attributes, which `infer` has accepted. Positive.
  // An exception becomes INTERNAL.
  std::function<int64_t(const InferContext&)> limit = nullptr;
};

struct OpDef {
  std::string name = {};

  // Names of inputs and outputs, one output or more. With `variadic`, the last
  // input may be repeated one or more times. `optional_inputs` of the last
  // inputs may be left out, and so may the last outputs, as `infer` says.
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  bool variadic = false;
  int optional_inputs = 0;

  // With groups, the first `group_inputs` inputs may be given again and again,
  // group after group, before the others, which the groups share. Each group
  // has outputs of its own; `outputs`, `alias` and `mutates` are those of the
  // first (graph/input_groups.h has them of all). 0: no groups.
  int group_inputs = 0;

  // Every attribute the op reads; others are refused by name.
  std::vector<std::string> attributes = {};

  // Output types from input types and attributes. Checks every attribute and
  // shape: a node that passes can be built into a kernel. Errors:
  // INVALID_ARGUMENT that says what was expected and what came (the caller puts
  // the node's name before it). INTERNAL: exceptions, no types or too many.
  std::function<absl::StatusOr<std::vector<TensorType>>(const InferContext&)>
      infer = nullptr;

  // Gradients with respect to each input, in order; an invalid Tensor where
  // there is none (labels, masks). Null: the op stops gradients. An exception
  // becomes INTERNAL, as do gradients of another number or type than inputs.
  std::function<absl::StatusOr<std::vector<Tensor>>(GradientContext&)>
      gradient = nullptr;

  // Null: no flops, each input read and each output written once.
  std::function<OpCost(const OpContext&)> cost = nullptr;

  // The output *is* the input's bytes (Identity, Reshape, Apply*: output 0 is
  // the updated variable). Always honoured.
  std::vector<BufferPair> alias = {};

  // The output may take over the input's bytes when nothing reads the input
  // later (Relu, Add). Decided by the planner. Null function: always legal.
  std::vector<BufferPair> in_place = {};
  std::function<bool(const OpContext&)> in_place_legal = nullptr;

  // Inputs that the op overwrites (variables and optimizer slots). Every other
  // reader of such a value must be ordered before or after this node.
  std::vector<int> mutates = {};

  // Inputs of int32, int64 or uint8 that are indices. A session checks what is
  // fed to them before a step runs, with the same error on every device
  // (executor/session/feed_limits.h). What the graph computes reaches the
  // kernel unchecked: it must not read or write out of bounds whatever it is
  // given. Neither a repeated input nor one of an op with groups.
  std::vector<IndexInput> index_inputs = {};

  // The node stands for bytes that outlive a step (Variable) or never change
  // (Const): its output is resident and no kernel runs for it.
  bool resident = false;
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_OP_DEF_H_
