// Host tensors from elements, and feeds of them.
#ifndef SPILLWAY_TESTS_SUPPORT_HOST_TENSOR_H_
#define SPILLWAY_TESTS_SUPPORT_HOST_TENSOR_H_

#include <map>
#include <span>
#include <vector>

#include "executor/session/session.h"

namespace spillway::testing {

// A HostTensor of this type from elements of the matching C++ type.
template <typename T>
HostTensor MakeHostTensor(const TensorType& type, const std::vector<T>& data) {
  const auto bytes = std::as_bytes(std::span(data));
  return {.type = type, .bytes = {bytes.begin(), bytes.end()}};
}

// Borrows the tensors.
inline Feeds FeedsOf(const std::map<ValueId, HostTensor>& tensors) {
  Feeds feeds;
  for (const auto& [id, tensor] : tensors) {
    feeds[id] = TensorView{.type = tensor.type, .data = tensor.bytes.data()};
  }
  return feeds;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_HOST_TENSOR_H_
