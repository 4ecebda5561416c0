// A tensor whose elements are known while a model is imported: what `Shape`
// gives, an index, a constant of the model.
#ifndef SPILLWAY_ONNX_MODEL_FILE_CONSTANT_H_
#define SPILLWAY_ONNX_MODEL_FILE_CONSTANT_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/file/element_type.h"

namespace spillway::onnx_model {

using Reals = std::vector<double>;
using Integers = std::vector<int64_t>;

// Row-major. Floating types have `Reals`, rounded to their type; all others
// `Integers` (false is 0, true 1). Dimensions may be 0.
struct Constant {
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> dims = {};
  std::variant<Reals, Integers> elements = Reals();

  bool is_real() const { return std::holds_alternative<Reals>(elements); }
  const Reals& reals() const { return std::get<Reals>(elements); }
  const Integers& integers() const { return std::get<Integers>(elements); }
  size_t size() const;
  // Element `index` of any type.
  double real(size_t index) const;
  int64_t integer(size_t index) const;
};

Constant MakeIntegers(std::vector<int64_t> values);  // INT64 [n]
// Of `type`, with every element as the type can hold it: floats rounded,
// integers wrapped.
Constant MakeConstant(ElementType type, std::vector<int64_t> dims,
                      std::variant<Reals, Integers> elements);

// Errors: those of BytesOf.
absl::StatusOr<Constant> ReadConstant(const onnx::TensorProto& tensor,
                                      const std::string& model_path);

// Elements of these bytes (BytesOf), as float32. The size must fit (CHECKed).
std::vector<float> ToFloats(ElementType type, const std::string& bytes);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_CONSTANT_H_
