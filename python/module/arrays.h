// Tensors as NumPy arrays, and arrays of any library as tensors.
#ifndef SPILLWAY_PYTHON_MODULE_ARRAYS_H_
#define SPILLWAY_PYTHON_MODULE_ARRAYS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "executor/tensor.h"
#include "graph/tensor_type.h"
#include "pybind11/numpy.h"
#include "pybind11/pybind11.h"

namespace spillway::python {

// A tensor that borrows the bytes of an array, which it keeps alive.
struct ArrayTensor {
  pybind11::array array;
  TensorView view = {};
};

// `value` as a tensor of type `type`: a NumPy array, an object with __dlpack__
// (a tensor of PyTorch or JAX in the host's memory), or anything that
// numpy.asarray takes. Borrows the value's memory if it has the dtype and is
// contiguous; otherwise it is copied: reals may become float32, and integers
// the wanted ones if all fit. `name` names it in errors: InvalidArgument for
// another shape, and for a value that the dtype cannot hold. The GIL must be
// held.
ArrayTensor TensorOf(pybind11::handle value, const TensorType& type,
                     std::string_view name);

// The same with a copy, for tensors that are kept.
HostTensor CopyOf(pybind11::handle value, const TensorType& type,
                  std::string_view name);

// The type that `value` has as an array; float64 becomes float32. Throws
// InvalidArgument for a dtype that tensors do not have.
TensorType TypeFrom(pybind11::handle value);

// An array that owns the tensor's bytes; bfloat16 becomes float32, which holds
// all its values.
pybind11::array ArrayOf(HostTensor tensor);

// "float32"; a Python tuple.
std::string DTypeNameOf(DType dtype);
pybind11::tuple ShapeOf(const Shape& shape);
DType ParseDTypeOrThrow(std::string_view name);
Shape ShapeFrom(const std::vector<int64_t>& dims);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_ARRAYS_H_
