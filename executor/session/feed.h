// Feeds: the values for a step's Placeholders.
//
//   session.Step({{images, image_span}, {labels, label_span},
//                 {learning_rate, 0.1F}})
#ifndef SPILLWAY_EXECUTOR_SESSION_FEED_H_
#define SPILLWAY_EXECUTOR_SESSION_FEED_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "executor/tensor.h"
#include "graph/node.h"

namespace spillway {

// The elements of one tensor, contiguous and row-major: borrowed until the step
// has returned, except for a single element, which is copied. For plain
// elements, type and number are checked against the Placeholder; for a
// TensorView and a HostTensor the whole type.
//
// The C++ type of an element must be that of the Placeholder's dtype
// (ElementDType in executor/tensor.h); nothing is converted. Write a float32 as
// a float, 0.1F: with 0.1, a double, a step does not compile.
class Feed {
 public:
  Feed() = default;  // no data: refused by Step

  // Implicit, so that a step can be written as a list of pairs.
  template <typename T, size_t kExtent>
  requires Element<std::remove_const_t<T>> Feed(std::span<T, kExtent> elements)
      : Feed(*ElementDType<std::remove_const_t<T>>(), elements.size(),
             elements.data()) {}
  template <Element T>
  requires(!std::is_same_v<T, bool>)  // vector<bool> holds bits
      Feed(const std::vector<T>& elements)
      : Feed(std::span<const T>(elements)) {}
  template <Element T, size_t kSize>
  Feed(const std::array<T, kSize>& elements)
      : Feed(std::span<const T>(elements)) {}
  template <Element T, size_t kSize>
  Feed(const T (&elements)[kSize]) : Feed(std::span<const T>(elements)) {}
  // One element, copied.
  template <Element T>
  Feed(T element) : dtype_(*ElementDType<T>()), num_elements_(1) {
    std::memcpy(element_.data(), &element, sizeof(element));
    is_copied_ = true;
  }
  Feed(const TensorView& tensor);
  Feed(const TensorType& type, const void* data)
      : Feed(TensorView{.type = type, .data = data}) {}
  Feed(const HostTensor& tensor);

  // Null if there are no bytes. Valid as long as the feed and what it borrows.
  const void* data() const { return is_copied_ ? element_.data() : data_; }

  // Errors: INVALID_ARGUMENT with what a Placeholder of this type needs and
  // what was given.
  absl::Status Check(const TensorType& needed) const;

 private:
  Feed(DType dtype, size_t num_elements, const void* data)
      : dtype_(dtype),
        num_elements_(static_cast<int64_t>(num_elements)),
        data_(data) {}

  std::optional<TensorType> type_ = {};  // none: plain elements, see below
  DType dtype_ = DType::kFloat32;
  int64_t num_elements_ = 0;
  std::optional<int64_t> bytes_ = {};  // if the owner states them
  const void* data_ = nullptr;
  bool is_copied_ = false;
  alignas(8) std::array<std::byte, 8> element_ = {};
};

using Feeds = std::map<ValueId, Feed>;

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_FEED_H_
