// A descriptor of cuDNN's graph API: an object whose type is a number and whose
// attributes, also numbers, are set one by one before it is finalized, and can
// be read afterwards.
//
// Errors: those of CudnnStatus. They name the call and a number of
// cudnn_graph.h's enumerations: the attribute's, for example
// "cudnnBackendSetAttribute(902): ...", or the type's if there is no attribute.
//
// Source: NVIDIA, "cuDNN API Reference", version 9, cudnn_graph, "Backend
// Descriptor Types".
#ifndef SPILLWAY_OPS_GPU_LIBRARY_CUDNN_GRAPH_H_
#define SPILLWAY_OPS_GPU_LIBRARY_CUDNN_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "ops/gpu/library/cudnn.h"

namespace spillway {

// The library's enumerator for the type of an attribute's elements.
template <cudnnBackendAttributeType_t type>
using GraphTypeIs = std::integral_constant<cudnnBackendAttributeType_t, type>;
template <typename T>
struct GraphType;  // undefined for other types
template <>
struct GraphType<cudnnHandle_t> : GraphTypeIs<CUDNN_TYPE_HANDLE> {};
template <>
struct GraphType<cudnnDataType_t> : GraphTypeIs<CUDNN_TYPE_DATA_TYPE> {};
template <>
struct GraphType<int64_t> : GraphTypeIs<CUDNN_TYPE_INT64> {};
template <>
struct GraphType<float> : GraphTypeIs<CUDNN_TYPE_FLOAT> {};
template <>
struct GraphType<void*> : GraphTypeIs<CUDNN_TYPE_VOID_PTR> {};
template <>
struct GraphType<cudnnConvolutionMode_t>
    : GraphTypeIs<CUDNN_TYPE_CONVOLUTION_MODE> {};
template <>
struct GraphType<cudnnBackendHeurMode_t> : GraphTypeIs<CUDNN_TYPE_HEUR_MODE> {};
template <>
struct GraphType<cudnnBackendKnobType_t> : GraphTypeIs<CUDNN_TYPE_KNOB_TYPE> {};
template <>
struct GraphType<cudnnBackendNumericalNote_t>
    : GraphTypeIs<CUDNN_TYPE_NUMERICAL_NOTE> {};

class GraphDescriptor {
 public:
  // `api` is borrowed for the lifetime of the descriptor.
  static absl::StatusOr<GraphDescriptor> Create(
      const CudnnApi& api, cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return owned_.get(); }

  template <typename T>
  absl::Status Set(cudnnBackendAttributeName_t name, const T& value) {
    return SetAll(name, std::span(&value, 1));
  }
  template <typename T>
  absl::Status SetAll(cudnnBackendAttributeName_t name,
                      std::span<const T> values) {
    return SetRaw(name, GraphType<T>::value, values.size(), values.data());
  }
  // `other` must outlive this descriptor.
  absl::Status Set(cudnnBackendAttributeName_t name,
                   const GraphDescriptor& other);

  absl::Status Finalize();

  template <typename T>
  absl::StatusOr<T> Get(cudnnBackendAttributeName_t name) const {
    T value = {};
    SPILLWAY_RETURN_IF_ERROR(
        GetRaw(name, GraphType<T>::value, 1, &value).status());
    return value;
  }
  // The first `most` elements.
  template <typename T>
  absl::StatusOr<std::vector<T>> GetAll(cudnnBackendAttributeName_t name,
                                        size_t most) const {
    std::vector<T> values(most);
    SPILLWAY_ASSIGN_OR_RETURN(
        const size_t count,
        GetRaw(name, GraphType<T>::value, most, values.data()));
    values.resize(count);
    return values;
  }
  // An attribute whose elements are descriptors of `type`: the first, or the
  // first `most`.
  absl::StatusOr<GraphDescriptor> GetDescriptor(
      cudnnBackendAttributeName_t name,
      cudnnBackendDescriptorType_t type) const;
  absl::StatusOr<std::vector<GraphDescriptor>> GetDescriptors(
      cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
      size_t most) const;
  // The number of these descriptors.
  absl::StatusOr<size_t> CountDescriptors(
      cudnnBackendAttributeName_t name) const;

 private:
  GraphDescriptor(const CudnnApi& api, cudnnBackendDescriptorType_t type,
                  cudnnBackendDescriptor_t descriptor)
      : api_(&api), type_(type), owned_(descriptor, api.destroy_backend) {}

  absl::Status SetRaw(cudnnBackendAttributeName_t name,
                      cudnnBackendAttributeType_t type, size_t count,
                      const void* elements);
  // Returns the number of elements written to `elements`, at most `most`.
  absl::StatusOr<size_t> GetRaw(cudnnBackendAttributeName_t name,
                                cudnnBackendAttributeType_t type, size_t most,
                                void* elements) const;

  const CudnnApi* api_ = nullptr;
  cudnnBackendDescriptorType_t type_ = {};
  CudnnOwned<cudnnBackendDescriptor_t> owned_;
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_LIBRARY_CUDNN_GRAPH_H_
