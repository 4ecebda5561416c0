// A value of the model while it is imported.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_MODEL_VALUE_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_MODEL_VALUE_H_

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <vector>

#include "onnx_model/file/constant.h"
#include "onnx_model/layout/arranged.h"

namespace spillway::onnx_model {

// Reals that a variable can start with: an initializer, or what a node of
// constants gives. Becomes a variable when it is first read, in the order in
// which the reader wants it.
struct Weight {
  const onnx::TensorProto* initializer = nullptr;  // of the model
  std::optional<double> fill = {};                 // every element
};

// Exactly one of `constant`, `weight` and `arranged` says what the value is;
// `arranged` is there too once a constant or a weight has a tensor. None: the
// node that makes it could not be converted.
struct ModelValue {
  std::string name = {};
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> dims = {};
  std::optional<Constant> constant = {};
  std::optional<Weight> weight = {};
  std::optional<Arranged> arranged = {};

  bool is_known() const {
    return constant.has_value() || weight.has_value() || arranged.has_value();
  }
};

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_MODEL_VALUE_H_
