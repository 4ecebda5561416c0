// Strong dense ids: an int32 index that cannot be mixed up with another kind
// of id, and a vector that only its own kind of id can index.
#ifndef SPILLWAY_BASE_IDS_H_
#define SPILLWAY_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace spillway {

// An index into a dense list. Default-constructed ids are invalid (-1).
template <typename Tag>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(int32_t value) : value_(value) {}
  constexpr explicit StrongId(size_t value)
      : value_(static_cast<int32_t>(value)) {}

  constexpr int32_t value() const { return value_; }
  constexpr size_t index() const { return static_cast<size_t>(value_); }
  constexpr bool is_valid() const { return value_ >= 0; }

  friend constexpr auto operator<=>(StrongId, StrongId) = default;

 private:
  int32_t value_ = -1;
};

// The ids 0 ... size - 1 in this order, for range-based loops.
template <typename Id>
class IdRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(size_t index) : index_(index) {}

    constexpr Id operator*() const { return Id(index_); }
    constexpr Iterator& operator++() {
      ++index_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    size_t index_ = 0;
  };

  constexpr explicit IdRange(size_t size) : size_(size) {}

  constexpr Iterator begin() const { return Iterator(0); }
  constexpr Iterator end() const { return Iterator(size_); }

 private:
  size_t size_ = 0;
};

// A vector of T indexed by Id. Ids are dense, so it serves as a map from ids.
template <typename Id, typename T>
class IdMap {
 public:
  using reference = typename std::vector<T>::reference;
  using const_reference = typename std::vector<T>::const_reference;

  IdMap() = default;
  explicit IdMap(size_t size, const T& fill = T()) : items_(size, fill) {}

  reference operator[](Id id) { return items_[id.index()]; }
  const_reference operator[](Id id) const { return items_[id.index()]; }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  // Of the current items; items that are added later are not in the range.
  IdRange<Id> ids() const { return IdRange<Id>(items_.size()); }
  void resize(size_t size, const T& fill = T()) { items_.resize(size, fill); }
  void reserve(size_t size) { items_.reserve(size); }

  // Appends and returns the id of the new item.
  Id push_back(T item) {
    items_.push_back(std::move(item));
    return Id(items_.size() - 1);
  }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  friend bool operator==(const IdMap&, const IdMap&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace spillway

template <typename Tag>
struct std::hash<spillway::StrongId<Tag>> {
  size_t operator()(spillway::StrongId<Tag> id) const {
    return std::hash<int32_t>()(id.value());
  }
};

#endif  // SPILLWAY_BASE_IDS_H_
