// The ops that can be imported, and how (docs/onnx.md has the table for users).
#ifndef SPILLWAY_ONNX_MODEL_OP_FAMILY_OP_TABLE_H_
#define SPILLWAY_ONNX_MODEL_OP_FAMILY_OP_TABLE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "onnx_model/convert/node_conversion.h"

namespace spillway::onnx_model {

// Adds the nodes of one node of the model and sets its outputs. Errors:
// UNIMPLEMENTED saying which attribute, version or input we do not have;
// INVALID_ARGUMENT for a node that contradicts the standard. Errors of the
// builder stay there.
using Converter = absl::Status (*)(NodeConversion& node);

constexpr int kAnyNumber = 1 << 16;

// An op of the default domain, in all opsets from kOldestOpset to kNewestOpset.
// A converter asks for the opset where the meaning of an op has changed, not
// where it was given more types.
struct OpEntry {
  std::string_view name = {};
  int min_inputs = 1;  // that may not be left out
  int max_inputs = 1;
  Converter convert = nullptr;
};

// By family, each in the file convert_<family>.cc.
std::span<const OpEntry> ConstantOps();
std::span<const OpEntry> ConvolutionOps();
std::span<const OpEntry> PoolOps();
std::span<const OpEntry> NormalizationOps();
std::span<const OpEntry> AffineNormOps();
std::span<const OpEntry> LinearOps();
std::span<const OpEntry> ActivationOps();
std::span<const OpEntry> ArithmeticOps();
std::span<const OpEntry> ShapeOps();
std::span<const OpEntry> SelectionOps();
std::span<const OpEntry> GatherOps();
std::span<const OpEntry> PadOps();
std::span<const OpEntry> ReductionOps();
std::span<const OpEntry> ChoiceOps();
std::span<const OpEntry> LossOps();
std::span<const OpEntry> ResizeOps();

// Constants that a converter makes itself have so many elements at most: a file
// of a few bytes must not take the memory.
constexpr int64_t kMostConstantElements = int64_t{1} << 21;

// UNIMPLEMENTED for more elements.
absl::Status CheckConstantSize(int64_t elements);

// UNIMPLEMENTED if input 0 is not of reals.
absl::Status CheckReals(const NodeConversion& node);

// Null for an op that is not in the table.
const OpEntry* FindOp(std::string_view name);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_OP_FAMILY_OP_TABLE_H_
