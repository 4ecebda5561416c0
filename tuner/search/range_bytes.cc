#include "tuner/search/range_bytes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace spillway {

RangeBytes::RangeBytes(std::vector<int64_t> bytes) : bytes_(std::move(bytes)) {
  const size_t blocks = (bytes_.size() + kBlock - 1) / kBlock;
  added_.assign(blocks, 0);
  most_.assign(blocks, std::numeric_limits<int64_t>::min());
  for (size_t k = 0; k < bytes_.size(); ++k) {
    most_[k / kBlock] = std::max(most_[k / kBlock], bytes_[k]);
  }
}

int64_t RangeBytes::Most(int32_t begin, int32_t end) const {
  int64_t most = std::numeric_limits<int64_t>::min();
  auto k = static_cast<size_t>(begin);
  const auto last = static_cast<size_t>(end);
  while (k < last) {
    const size_t block = k / kBlock;
    if (k % kBlock == 0 && k + kBlock <= last) {
      most = std::max(most, most_[block] + added_[block]);
      k += kBlock;
    } else {
      most = std::max(most, at(k));
      ++k;
    }
  }
  return most;
}

void RangeBytes::Add(int32_t begin, int32_t end, int64_t bytes) {
  auto k = static_cast<size_t>(begin);
  const auto last = static_cast<size_t>(end);
  while (k < last) {
    const size_t block = k / kBlock;
    if (k % kBlock == 0 && k + kBlock <= last) {
      added_[block] += bytes;
      k += kBlock;
      continue;
    }
    const size_t until = std::min(last, (block + 1) * kBlock);
    for (; k < until; ++k) bytes_[k] += bytes;
    const auto first = bytes_.begin() + static_cast<int64_t>(block * kBlock);
    const auto limit =
        bytes_.begin() +
        static_cast<int64_t>(std::min(bytes_.size(), (block + 1) * kBlock));
    most_[block] = *std::max_element(first, limit);
  }
}

int64_t RangeBytes::Most() const {
  return bytes_.empty() ? 0 : Most(0, static_cast<int32_t>(bytes_.size()));
}

}  // namespace spillway
