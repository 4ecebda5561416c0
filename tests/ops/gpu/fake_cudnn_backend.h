// The descriptors of the fake cuDNN's graph API: they store their attributes
// and refuse those with a wrong name, type or count, those that come too late,
// and descriptors that are not finalized. fake_cudnn_graph.h defines their
// meaning.
#ifndef SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_BACKEND_H_
#define SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_BACKEND_H_

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace spillway::testing {

struct FakeBackend;
using FakeBackendPtr = std::shared_ptr<const FakeBackend>;

struct FakeAttribute {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  int64_t count = 0;
  std::vector<std::byte> bytes = {};          // unless they are descriptors
  std::vector<FakeBackendPtr> elements = {};  // may be fewer than `count`

  template <typename T>
  std::vector<T> As() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

// The target of a cudnnBackendDescriptor_t.
struct FakeBackend {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool is_finalized = false;
  std::map<cudnnBackendAttributeName_t, FakeAttribute> attributes = {};

  template <typename T>
  std::vector<T> All(cudnnBackendAttributeName_t name) const {
    return attributes.at(name).As<T>();
  }
  template <typename T>
  T One(cudnnBackendAttributeName_t name) const {
    return All<T>(name).at(0);
  }
  const FakeBackend& Child(cudnnBackendAttributeName_t name) const {
    return *attributes.at(name).elements.at(0);
  }
  template <typename T>
  void Put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const std::vector<T>& values) {
    FakeAttribute& attribute = attributes[name];
    attribute.type = type;
    attribute.count = static_cast<int64_t>(values.size());
    attribute.bytes.resize(values.size() * sizeof(T));
    std::memcpy(attribute.bytes.data(), values.data(), attribute.bytes.size());
  }
  void PutElements(cudnnBackendAttributeName_t name,
                   std::vector<FakeBackendPtr> elements) {
    attributes[name] = {.type = CUDNN_TYPE_BACKEND_DESCRIPTOR,
                        .count = static_cast<int64_t>(elements.size()),
                        .elements = std::move(elements)};
  }
};

// Null: no such descriptor exists (any more).
std::shared_ptr<FakeBackend> FakeBackendOf(cudnnBackendDescriptor_t descriptor);

// Whether all required attributes are set.
bool IsComplete(const FakeBackend& backend);

// Whether FakeCudnnState::failing_call makes this call fail: it is `call` (for
// all numbers) or "call(number)".
bool FailsBackend(const std::string& call, int number);

cudnnStatus_t CreateFakeBackend(cudnnBackendDescriptorType_t type,
                                cudnnBackendDescriptor_t* descriptor);
cudnnStatus_t DestroyFakeBackend(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t SetFakeAttribute(cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t type, int64_t count,
                               const void* elements);
cudnnStatus_t GetFakeAttribute(cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t type, int64_t most,
                               int64_t* count, void* elements);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_BACKEND_H_
