#include "ops/gpu/library/cudnn_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace spillway {

absl::StatusOr<GraphDescriptor> GraphDescriptor::Create(
    const CudnnApi& api, cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(
      api, api.create_backend(type, &descriptor),
      fmt::format("cudnnBackendCreateDescriptor({})", static_cast<int>(type))));
  return GraphDescriptor(api, type, descriptor);
}

absl::Status GraphDescriptor::Set(cudnnBackendAttributeName_t name,
                                  const GraphDescriptor& other) {
  const cudnnBackendDescriptor_t descriptor = other.get();
  return SetRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

absl::Status GraphDescriptor::Finalize() {
  return CudnnStatus(
      *api_, api_->finalize(get()),
      fmt::format("cudnnBackendFinalize({})", static_cast<int>(type_)));
}

absl::StatusOr<GraphDescriptor> GraphDescriptor::GetDescriptor(
    cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const {
  SPILLWAY_ASSIGN_OR_RETURN(GraphDescriptor element, Create(*api_, type));
  cudnnBackendDescriptor_t raw = element.get();
  SPILLWAY_RETURN_IF_ERROR(
      GetRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw).status());
  return element;
}

absl::StatusOr<std::vector<GraphDescriptor>> GraphDescriptor::GetDescriptors(
    cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
    size_t most) const {
  std::vector<GraphDescriptor> made;
  std::vector<cudnnBackendDescriptor_t> elements;
  for (size_t i = 0; i < most; ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(GraphDescriptor element, Create(*api_, type));
    elements.push_back(element.get());
    made.push_back(std::move(element));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t count,
      GetRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, elements.data()));
  made.erase(made.begin() + static_cast<ptrdiff_t>(count), made.end());
  return made;
}

absl::StatusOr<size_t> GraphDescriptor::CountDescriptors(
    cudnnBackendAttributeName_t name) const {
  int64_t count = 0;
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(
      *api_,
      api_->get_attribute(get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                          nullptr),
      fmt::format("cudnnBackendGetAttribute({})", static_cast<int>(name))));
  return static_cast<size_t>(std::max<int64_t>(count, 0));
}

absl::Status GraphDescriptor::SetRaw(cudnnBackendAttributeName_t name,
                                     cudnnBackendAttributeType_t type,
                                     size_t count, const void* elements) {
  return CudnnStatus(
      *api_,
      api_->set_attribute(get(), name, type, static_cast<int64_t>(count),
                          elements),
      fmt::format("cudnnBackendSetAttribute({})", static_cast<int>(name)));
}

absl::StatusOr<size_t> GraphDescriptor::GetRaw(cudnnBackendAttributeName_t name,
                                               cudnnBackendAttributeType_t type,
                                               size_t most,
                                               void* elements) const {
  int64_t count = 0;
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(
      *api_,
      api_->get_attribute(get(), name, type, static_cast<int64_t>(most), &count,
                          elements),
      fmt::format("cudnnBackendGetAttribute({})", static_cast<int>(name))));
  return std::min(static_cast<size_t>(count), most);
}

}  // namespace spillway
