// The element types of ONNX tensors (TensorProto.DataType), and what they
// become in a graph of ours.
#ifndef SPILLWAY_ONNX_MODEL_FILE_ELEMENT_TYPE_H_
#define SPILLWAY_ONNX_MODEL_FILE_ELEMENT_TYPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "graph/dtype.h"

namespace spillway::onnx_model {

// The numbers are those of TensorProto.DataType; other numbers may come from a
// file.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kBFloat16 = 16,
};

// "FLOAT", "INT64"; "type 23" for a number that is not above.
std::string ElementTypeName(ElementType type);

// Whether its values are reals.
bool IsFloating(ElementType type);
// Integers; not BOOL.
bool IsInteger(ElementType type);

// Bytes of an element; 0 for strings and what is unknown.
int64_t SizeOf(ElementType type);

// The type of such values within a graph: every real is float32 at first
// (onnx_model/import.h has the precision of activations). Nullopt for a type
// that no graph has: strings, 8-bit floats, unsigned integers above 8 bits.
std::optional<DType> DTypeOf(ElementType type);

// The type of a tensor with the same bytes; nullopt if there is none (DOUBLE,
// INT8).
std::optional<DType> HostDTypeOf(ElementType type);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_ELEMENT_TYPE_H_
