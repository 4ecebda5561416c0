// Parts: inputs of a node that are not a whole value, but some of its channels
// (its last dimension).
//
//   y [32, 8, 8, 64]  --> AddN {parts: [[0, 16, 32]]} --> sum [32, 8, 8, 32]
//   x [32, 8, 8, 32]  -->
//
// So a node reads a slice of a tensor, or a tensor that lies in a
// concatenation, without a copy. Shape inference, costs, in-place rules and
// kernels of the op see the type of the part, everything else the value.
//
// The attribute "parts" of a node lists [input, begin, size] for each, in order
// of inputs. An op says which of its inputs may be parts
// (OpDef::part_inputs).
#ifndef SPILLWAY_GRAPH_PARTS_H_
#define SPILLWAY_GRAPH_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "graph/op_registry.h"
#include "graph/tensor_type.h"

namespace spillway {

inline constexpr std::string_view kParts = "parts";

// Channels [begin, begin + size) of input `input`.
struct InputPart {
  int64_t input = 0;
  int64_t begin = 0;
  int64_t size = 0;

  friend bool operator==(const InputPart&, const InputPart&) = default;
};

// Whether the op allows it for this input.
bool MayBePart(const OpDef& def, size_t input);

// Those of a node with these attributes; none if the op reads no parts. Errors:
// INVALID_ARGUMENT if the attribute is of another kind.
absl::StatusOr<std::vector<InputPart>> PartsOf(const OpDef& def,
                                               const Attributes& attributes);
// Those of a node that has passed VerifyGraph; none if its op is unknown.
std::vector<InputPart> PartsOf(const OpRegistry& ops, const Node& node);
void SetParts(std::span<const InputPart> parts, Attributes& attributes);

// `inputs` with the types of the parts. Errors: INVALID_ARGUMENT if the parts
// are not in order, or one of them is not of an input that may be one, or not
// inside its value.
absl::StatusOr<std::vector<TensorType>> WithParts(
    const OpDef& def, const Attributes& attributes,
    std::span<const TensorType> inputs);

// The types of a node's inputs as its op sees them. `def`: its op's, or null.
// The node has passed VerifyGraph.
std::vector<TensorType> InputTypesOf(const Graph& graph, const Node& node,
                                     const OpDef* def);

// OpDef::derive of a node whose inputs have the types of its values: the
// derived node reads the same parts of them. The op has a derive function.
std::optional<DerivedNode> DeriveWithParts(const OpDef& def,
                                           const OpContext& node, int output);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PARTS_H_
