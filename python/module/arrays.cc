#include "python/module/arrays.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/bfloat16.h"
#include "base/status_macros.h"
#include "python/module/status.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

py::module_ NumPy() { return py::module_::import("numpy"); }

// The dtype of an array with the tensor's elements; of float32 for bfloat16,
// which NumPy does not have.
py::dtype NumPyDType(DType dtype) {
  return py::dtype(dtype == DType::kBFloat16 ? "float32"
                                             : std::string(DTypeName(dtype)));
}

py::array AsArray(py::handle value, std::string_view name) {
  try {
    if (py::isinstance<py::array>(value)) {
      return py::reinterpret_borrow<py::array>(value);
    }
    const char* convert =
        py::hasattr(value, "__dlpack__") ? "from_dlpack" : "asarray";
    return NumPy().attr(convert)(value);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    throw StatusError(InvalidArgument(
        fmt::format("{} is not an array: {}", name, error.what())));
  }
}

bool HasShape(const py::array& array, const Shape& shape) {
  if (array.ndim() != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (array.shape(i) != shape.dim(i)) return false;
  }
  return true;
}

std::string TypeOf(const py::array& array) {
  return fmt::format("{} of shape {}", std::string(py::str(array.dtype())),
                     std::string(py::str(array.attr("shape"))));
}

// Whether all integers of `array` are numbers of `dtype`.
bool Fit(const py::array& array, const py::dtype& dtype) {
  if (array.size() == 0) return true;
  const py::object limits = NumPy().attr("iinfo")(dtype);
  const py::object least = array.attr("min")();
  const py::object most = array.attr("max")();
  return py::bool_(least >= limits.attr("min")) &&
         py::bool_(most <= limits.attr("max"));
}

// Whether elements of the kind `from` can become `to` (of "fiub").
bool IsConvertible(const py::array& array, const py::dtype& to) {
  const char from = array.dtype().kind();
  const char kind = to.kind();
  if (kind == 'f') return from == 'f' || from == 'i' || from == 'u';
  const bool is_integer = from == 'i' || from == 'u' || from == 'b';
  return kind == 'b' ? from == 'b' : is_integer && Fit(array, to);
}

bool IsBorrowable(const py::array& array, const py::dtype& dtype) {
  return array.dtype().equal(dtype) &&
         (array.flags() & py::array::c_style) != 0 &&
         py::bool_(array.attr("flags").attr("aligned"));
}

// The bits of the floats of `array`, rounded.
py::array BFloat16Bits(const py::array& array) {
  py::array_t<uint16_t> bits(array.size());
  const auto* from = static_cast<const float*>(array.data());
  uint16_t* to = bits.mutable_data();
  for (py::ssize_t i = 0; i < array.size(); ++i) {
    to[i] = ToBFloat16(from[i]).bits;
  }
  return bits;
}

HostTensor Widened(const HostTensor& tensor) {
  const auto n = static_cast<size_t>(tensor.type.num_elements());
  HostTensor wide = {
      .type = {.dtype = DType::kFloat32, .shape = tensor.type.shape},
      .bytes = std::vector<std::byte>(n * sizeof(float))};
  auto* to = reinterpret_cast<float*>(wide.bytes.data());
  for (size_t i = 0; i < n; ++i) to[i] = ToFloat(tensor.data<BFloat16>()[i]);
  return wide;
}

}  // namespace

ArrayTensor TensorOf(py::handle value, const TensorType& type,
                     std::string_view name) {
  py::array array = AsArray(value, name);
  const py::dtype dtype = NumPyDType(type.dtype);
  if (!HasShape(array, type.shape) || !IsConvertible(array, dtype)) {
    throw StatusError(InvalidArgument(fmt::format(
        "{} must be {}; it is {}", name, type.ToString(), TypeOf(array))));
  }
  if (!IsBorrowable(array, dtype)) {
    array = array.attr("astype")(dtype, py::arg("order") = "C");
  }
  if (type.dtype == DType::kBFloat16) array = BFloat16Bits(array);
  const void* data = array.data();
  return {.array = std::move(array), .view = {.type = type, .data = data}};
}

HostTensor CopyOf(py::handle value, const TensorType& type,
                  std::string_view name) {
  const ArrayTensor tensor = TensorOf(value, type, name);
  const auto* begin = static_cast<const std::byte*>(tensor.view.data);
  return {.type = type, .bytes = {begin, begin + type.num_bytes()}};
}

TensorType TypeFrom(py::handle value) {
  const py::array array = AsArray(value, "the array");
  const auto dtype = py::cast<std::string>(array.dtype().attr("name"));
  const std::vector<int64_t> dims(array.shape(), array.shape() + array.ndim());
  return {.dtype = ParseDTypeOrThrow(dtype == "float64" ? "float32" : dtype),
          .shape = ShapeFrom(dims)};
}

py::array ArrayOf(HostTensor tensor) {
  if (tensor.type.dtype == DType::kBFloat16) tensor = Widened(tensor);
  const py::dtype dtype = NumPyDType(tensor.type.dtype);
  const std::vector<int64_t> dims(tensor.type.shape.dims().begin(),
                                  tensor.type.shape.dims().end());
  auto owned = std::make_unique<HostTensor>(std::move(tensor));
  const void* data = owned->bytes.data();
  const py::capsule owner(owned.release(), [](void* pointer) {
    delete static_cast<HostTensor*>(pointer);
  });
  return py::array(dtype, dims, data, owner);
}

std::string DTypeNameOf(DType dtype) { return std::string(DTypeName(dtype)); }

py::tuple ShapeOf(const Shape& shape) {
  py::tuple dims(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) {
    dims[static_cast<size_t>(i)] = shape.dim(i);
  }
  return dims;
}

DType ParseDTypeOrThrow(std::string_view name) {
  const std::optional<DType> dtype = ParseDType(name);
  if (!dtype) {
    throw StatusError(InvalidArgument(
        fmt::format("there is no dtype '{}': float32, bfloat16, float16, "
                    "int32, int64, uint8 or bool",
                    name)));
  }
  return *dtype;
}

Shape ShapeFrom(const std::vector<int64_t>& dims) { return Shape(dims); }

}  // namespace spillway::python
