#include "tests/ops/gpu/fake_cudnn_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/ops/gpu/fake_cudnn.h"

namespace spillway::testing {
namespace {

// A required attribute.
struct Rule {
  cudnnBackendAttributeName_t name = {};
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  int64_t least = 1;  // elements
  int64_t most = 1;
  cudnnBackendDescriptorType_t element = {};  // if they are descriptors
};

Rule Child(cudnnBackendAttributeName_t name,
           cudnnBackendDescriptorType_t element) {
  return {
      .name = name, .type = CUDNN_TYPE_BACKEND_DESCRIPTOR, .element = element};
}

// For a convolution or gradient, whose attributes are numbered from `alpha` on.
std::vector<Rule> OperationRules(int alpha) {
  const auto name = [alpha](int i) {
    return static_cast<cudnnBackendAttributeName_t>(alpha + i);
  };
  return {{.name = name(0), .type = CUDNN_TYPE_FLOAT},
          {.name = name(1), .type = CUDNN_TYPE_FLOAT},
          Child(name(2), CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR),
          Child(name(3), CUDNN_BACKEND_TENSOR_DESCRIPTOR),
          Child(name(4), CUDNN_BACKEND_TENSOR_DESCRIPTOR),
          Child(name(5), CUDNN_BACKEND_TENSOR_DESCRIPTOR)};
}

// Empty: no attribute can be set.
std::vector<Rule> RulesOf(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return {
          {.name = CUDNN_ATTR_TENSOR_DATA_TYPE, .type = CUDNN_TYPE_DATA_TYPE},
          {.name = CUDNN_ATTR_TENSOR_DIMENSIONS, .least = 4, .most = 5},
          {.name = CUDNN_ATTR_TENSOR_STRIDES, .least = 4, .most = 5},
          {.name = CUDNN_ATTR_TENSOR_UNIQUE_ID},
          {.name = CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT}};
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return {
          {.name = CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
           .type = CUDNN_TYPE_DATA_TYPE},
          {.name = CUDNN_ATTR_CONVOLUTION_CONV_MODE,
           .type = CUDNN_TYPE_CONVOLUTION_MODE},
          {.name = CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS},
          {.name = CUDNN_ATTR_CONVOLUTION_DILATIONS, .least = 2, .most = 3},
          {.name = CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
           .least = 2,
           .most = 3},
          {.name = CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, .least = 2, .most = 3},
          {.name = CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
           .least = 2,
           .most = 3}};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return OperationRules(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return OperationRules(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return OperationRules(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      // The element has one of three types: see SetElements.
      return {
          {.name = CUDNN_ATTR_OPERATIONGRAPH_HANDLE, .type = CUDNN_TYPE_HANDLE},
          {.name = CUDNN_ATTR_OPERATIONGRAPH_OPS,
           .type = CUDNN_TYPE_BACKEND_DESCRIPTOR}};
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return {
          Child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
          {.name = CUDNN_ATTR_ENGINEHEUR_MODE, .type = CUDNN_TYPE_HEUR_MODE}};
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return {
          {.name = CUDNN_ATTR_EXECUTION_PLAN_HANDLE, .type = CUDNN_TYPE_HANDLE},
          Child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return {{.name = CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, .most = 8},
              {.name = CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
               .type = CUDNN_TYPE_VOID_PTR,
               .most = 8},
              {.name = CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
               .type = CUDNN_TYPE_VOID_PTR}};
    default:
      return {};
  }
}

size_t SizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    default:
      return 4;
  }
}

bool IsOperation(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

// Existing descriptors, by the address that the caller has.
std::map<cudnnBackendDescriptor_t, std::shared_ptr<FakeBackend>>& Existing() {
  static std::map<cudnnBackendDescriptor_t, std::shared_ptr<FakeBackend>> all;
  return all;
}

cudnnStatus_t SetElements(const Rule& rule, int64_t count, const void* raw,
                          FakeBackend& backend) {
  const auto* descriptors = static_cast<const cudnnBackendDescriptor_t*>(raw);
  std::vector<FakeBackendPtr> elements;
  for (int64_t i = 0; i < count; ++i) {
    const std::shared_ptr<FakeBackend> element = FakeBackendOf(descriptors[i]);
    if (element == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!element->is_finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    const bool is_good = rule.name == CUDNN_ATTR_OPERATIONGRAPH_OPS
                             ? IsOperation(element->type)
                             : element->type == rule.element;
    if (!is_good) return CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
    elements.push_back(element);
  }
  backend.PutElements(rule.name, std::move(elements));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

std::shared_ptr<FakeBackend> FakeBackendOf(
    cudnnBackendDescriptor_t descriptor) {
  const auto found = Existing().find(descriptor);
  return found == Existing().end() ? nullptr : found->second;
}

bool IsComplete(const FakeBackend& backend) {
  const std::vector<Rule> rules = RulesOf(backend.type);
  return !rules.empty() && std::ranges::all_of(rules, [&](const Rule& rule) {
    return backend.attributes.contains(rule.name);
  });
}

bool FailsBackend(const std::string& call, int number) {
  return FakeCudnn().Fails(call) ||
         FakeCudnn().Fails(fmt::format("{}({})", call, number));
}

cudnnStatus_t CreateFakeBackend(cudnnBackendDescriptorType_t type,
                                cudnnBackendDescriptor_t* descriptor) {
  if (FailsBackend("cudnnBackendCreateDescriptor", type)) {
    return FakeCudnn().failing_status;
  }
  const auto made = std::make_shared<FakeBackend>(FakeBackend{.type = type});
  *descriptor = made.get();
  Existing()[*descriptor] = made;
  ++FakeCudnn().objects;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t DestroyFakeBackend(cudnnBackendDescriptor_t descriptor) {
  if (Existing().erase(descriptor) == 0) return CUDNN_STATUS_BAD_PARAM;
  --FakeCudnn().objects;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SetFakeAttribute(cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t type, int64_t count,
                               const void* elements) {
  if (FailsBackend("cudnnBackendSetAttribute", name)) {
    return FakeCudnn().failing_status;
  }
  const std::shared_ptr<FakeBackend> backend = FakeBackendOf(descriptor);
  if (backend == nullptr || backend->is_finalized) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  for (const Rule& rule : RulesOf(backend->type)) {
    if (rule.name != name) continue;
    if (rule.type != type) return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (count < rule.least || count > rule.most) {
      return CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND;
    }
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      return SetElements(rule, count, elements, *backend);
    }
    const auto* bytes = static_cast<const std::byte*>(elements);
    backend->Put(
        name, type,
        std::vector(bytes, bytes + static_cast<size_t>(count) * SizeOf(type)));
    backend->attributes[name].count = count;
    return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t GetFakeAttribute(cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t type, int64_t most,
                               int64_t* count, void* elements) {
  if (FailsBackend("cudnnBackendGetAttribute", name)) {
    return FakeCudnn().failing_status;
  }
  const std::shared_ptr<FakeBackend> backend = FakeBackendOf(descriptor);
  if (backend == nullptr || !backend->is_finalized) {
    return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  }
  const auto found = backend->attributes.find(name);
  if (found == backend->attributes.end() || found->second.type != type) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const FakeAttribute& attribute = found->second;
  *count = attribute.count;
  if (most == 0) return CUDNN_STATUS_SUCCESS;
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    std::memcpy(elements, attribute.bytes.data(),
                SizeOf(type) * static_cast<size_t>(std::min(most, *count)));
    return CUDNN_STATUS_SUCCESS;
  }
  // The caller's descriptors become copies of the elements.
  *count = std::min(most, static_cast<int64_t>(attribute.elements.size()));
  const auto* targets = static_cast<cudnnBackendDescriptor_t*>(elements);
  for (int64_t i = 0; i < *count; ++i) {
    const std::shared_ptr<FakeBackend> target = FakeBackendOf(targets[i]);
    const FakeBackend& element = *attribute.elements[static_cast<size_t>(i)];
    if (target == nullptr || target->is_finalized ||
        target->type != element.type) {
      return CUDNN_STATUS_BAD_PARAM;
    }
    *target = element;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace spillway::testing
