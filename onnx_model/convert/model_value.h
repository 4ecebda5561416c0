// A value of the model while it is imported.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_MODEL_VALUE_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_MODEL_VALUE_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "onnx_model/file/constant.h"
#include "onnx_model/layout/arranged.h"

namespace spillway::onnx_model {

enum class WeightRole : uint8_t {
  kTrained,  // unless it is frozen
  kFixed,    // a moving average, weights of classes
};

// Reals that a variable can start with: an initializer, or what a node of
// constants gives. Becomes a variable when it is first read, in the order in
// which the reader wants it.
struct Weight {
  const onnx::TensorProto* initializer = nullptr;  // of the model
  std::optional<double> fill = {};                 // every element
};

// The parts of x along a dimension, as a sequence of tensors.
struct SplitSequence {
  Arranged x = {};
  int axis = 0;
  std::vector<int64_t> sizes = {};
  bool keeps_axis = true;  // false: parts of size 1 lack the dimension
};

// Exactly one of `constant`, `weight`, `arranged` and `sequence` says what the
// value is; `arranged` is there too once a constant or a weight has a tensor.
// None: the node that makes it could not be converted.
struct ModelValue {
  std::string name = {};
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> dims = {};
  std::optional<Constant> constant = {};
  bool is_folded = false;  // the constant was computed from others
  std::optional<Weight> weight = {};
  std::optional<Arranged> arranged = {};
  std::optional<SplitSequence> sequence = {};
  // How the variable of a weight is used.
  std::optional<WeightRole> role = {};

  bool is_known() const {
    return constant.has_value() || weight.has_value() || arranged.has_value() ||
           sequence.has_value();
  }
};

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_MODEL_VALUE_H_
