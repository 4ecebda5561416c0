// Feeds: what a step is given for its Placeholders.
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

// The elements of one tensor: borrowed until the step has returned, but for a
// single element, which is copied. Of plain elements type and number are
// checked against the Placeholder, of a TensorView and a HostTensor the whole
// type. Contiguous, row-major.
//
// The C++ type of an element is that of the Placeholder's dtype (ElementDType
// in executor/tensor.h); nothing is converted. A float32 is a float, 0.1F: with
// 0.1, a double, a step does not compile.
class Feed {
 public:
  Feed() = default;  // no data: refused by Step

  // Implicit, so that a step reads as a list of pairs.
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

  // Null: there are no bytes. Valid as long as the feed and what it borrows.
  const void* data() const { return is_copied_ ? element_.data() : data_; }

  // Errors: INVALID_ARGUMENT that says what a Placeholder of this type needs
  // and what came.
  absl::Status Check(const TensorType& needed) const;

 private:
  Feed(DType dtype, size_t num_elements, const void* data)
      : dtype_(dtype),
        num_elements_(static_cast<int64_t>(num_elements)),
        data_(data) {}

  std::optional<TensorType> type_ = {};  // none: of plain elements, the next
  DType dtype_ = DType::kFloat32;
  int64_t num_elements_ = 0;
  std::optional<int64_t> bytes_ = {};  // where the owner says how many
  const void* data_ = nullptr;
  bool is_copied_ = false;
  alignas(8) std::array<std::byte, 8> element_ = {};
};

using Feeds = std::map<ValueId, Feed>;

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_FEED_H_
