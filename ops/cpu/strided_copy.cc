#include "ops/cpu/strided_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "ops/cpu/parallel.h"

namespace spillway {
namespace {

constexpr int64_t kGrainElements = 16384;

// An element of any type of this size; it is copied with one move.
template <int kBytes>
struct alignas(kBytes) Element {
  std::byte bytes[kBytes];
};

// Elements from the start of both layouts.
struct Offsets {
  int64_t from = 0;
  int64_t to = 0;
};

// The offsets of element `index` of the box without its innermost dimension.
Offsets OffsetsOf(const StridedCopy& copy, int64_t index) {
  Offsets offsets;
  for (size_t axis = copy.sizes.size() - 1; axis-- > 0;) {
    const int64_t place = index % copy.sizes[axis];
    index /= copy.sizes[axis];
    offsets.from += place * copy.from_strides[axis];
    offsets.to += place * copy.to_strides[axis];
  }
  return offsets;
}

// The innermost dimension.
struct Row {
  int64_t size = 0;
  int64_t from_stride = 0;
  int64_t to_stride = 0;
};

template <typename T>
void CopyRow(const Row& row, const T* from, T* to) {
  if (row.from_stride == 1 && row.to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(row.size) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < row.size; ++i) {
    to[i * row.to_stride] = from[i * row.from_stride];
  }
}

template <typename T>
void CopyElements(int threads, const StridedCopy& copy, const void* from,
                  void* to) {
  const T* source = static_cast<const T*>(from) + copy.from_start;
  T* target = static_cast<T*>(to) + copy.to_start;
  const Row row = {.size = copy.sizes.back(),
                   .from_stride = copy.from_strides.back(),
                   .to_stride = copy.to_strides.back()};
  if (copy.sizes.size() == 1) {
    ParallelFor(threads, row.size, kGrainElements,
                [&](int64_t begin, int64_t end) {
                  Row part = row;
                  part.size = end - begin;
                  CopyRow(part, source + begin * row.from_stride,
                          target + begin * row.to_stride);
                });
    return;
  }
  int64_t rows = 1;
  for (const int64_t size : copy.sizes) rows *= size;
  rows /= row.size;
  ParallelFor(threads, rows, kGrainElements / row.size + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const Offsets offsets = OffsetsOf(copy, i);
                  CopyRow(row, source + offsets.from, target + offsets.to);
                }
              });
}

}  // namespace

void CopyStrided(int threads, const StridedCopy& copy, const void* from,
                 void* to) {
  switch (copy.element_bytes) {
    case 1:
      return CopyElements<Element<1>>(threads, copy, from, to);
    case 2:
      return CopyElements<Element<2>>(threads, copy, from, to);
    case 4:
      return CopyElements<Element<4>>(threads, copy, from, to);
    default:
      SPILLWAY_CHECK(copy.element_bytes == 8);
      return CopyElements<Element<8>>(threads, copy, from, to);
  }
}

}  // namespace spillway
