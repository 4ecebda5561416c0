#include "onnx_model/op_family/classes.h"

#include <utility>
#include <vector>

namespace spillway::onnx_model {

Tensor LogSoftmax(NodeConversion& node, Tensor x) {
  const Attributes last = {{"axes", std::vector<int64_t>{-1}},
                           {"keep_dims", true}};
  const Tensor below = node.Helper("Sub", {x, node.Helper("Max", {x}, last)});
  const Tensor sum = node.Helper("Sum", {node.Helper("Exp", {below})}, last);
  return node.Add("Sub", {below, node.Helper("Log", {sum})});
}

Tensor IsClass(NodeConversion& node, Tensor labels, int64_t classes,
               int64_t first) {
  AttributeValue::List values(static_cast<size_t>(classes));
  for (int64_t i = 0; i < classes; ++i) {
    values[static_cast<size_t>(i)] = first + i;
  }
  const Tensor all = node.Helper("Const", {},
                                 {{"dtype", labels.dtype()},
                                  {"shape", Shape({classes})},
                                  {"values", std::move(values)}});
  std::vector<int64_t> dims = labels.shape().dims();
  dims.push_back(1);
  const Tensor column =
      node.Helper("Reshape", {labels}, {{"shape", Shape(std::move(dims))}});
  return node.Helper("Equal", {column, all});
}

Tensor IsPlace(NodeConversion& node, Tensor indices, int64_t n) {
  return node.Helper(
      "LogicalOr", {IsClass(node, indices, n), IsClass(node, indices, n, -n)});
}

}  // namespace spillway::onnx_model
