#include "tuner/search/whole_tensors.h"

#include <algorithm>
#include <bitset>

namespace spillway {
namespace {

constexpr size_t kUnits = size_t{1} << 13;

// Tensors below this fraction of the bytes are dust, which may have any sum.
constexpr int64_t kDustPart = 64;
constexpr int64_t kMostLarge = 128;

// The possible sums, in units, of the tensors added so far, and how far the
// true sum may exceed them.
class Sums {
 public:
  explicit Sums(int64_t unit) : unit_(unit) { sums_.set(0); }

  void Add(int64_t bytes, bool is_dust) {
    const int64_t units = is_dust ? 0 : bytes / unit_;
    slack_ += bytes - units * unit_;
    sums_ |= sums_ << static_cast<size_t>(units);
  }

  // The smallest sum that is at least `bytes`.
  int64_t LeastFrom(int64_t bytes) const {
    if (bytes <= slack_) return bytes;
    const int64_t first = (bytes - slack_ + unit_ - 1) / unit_;
    for (auto sum = static_cast<size_t>(first); sum < sums_.size(); ++sum) {
      if (!sums_[sum]) continue;
      return std::max(bytes, static_cast<int64_t>(sum) * unit_);
    }
    return bytes;
  }

 private:
  const int64_t unit_;
  std::bitset<kUnits> sums_;
  int64_t slack_ = 0;
};

}  // namespace

std::vector<int64_t> LeastFromRest(std::span<const int64_t> tensor_bytes,
                                   int64_t bytes) {
  std::vector<int64_t> least;
  int64_t total = 0;
  for (int64_t left = bytes; const int64_t size : tensor_bytes) {
    total += size;
    if (left <= 0) continue;
    least.push_back(left);
    left -= size;
  }
  const auto is_dust = [&](int64_t size) { return size < bytes / kDustPart; };
  int64_t dust = 0;
  int64_t largest = 0;
  for (const int64_t size : tensor_bytes) {
    if (is_dust(size)) dust += size;
    largest = std::max(largest, size);
  }
  if (dust >= largest || std::ranges::count_if(tensor_bytes, [&](int64_t size) {
                           return !is_dust(size);
                         }) > kMostLarge) {
    return least;
  }
  Sums sums(total / static_cast<int64_t>(kUnits) + 1);
  for (size_t m = tensor_bytes.size(); m-- > 0;) {
    sums.Add(tensor_bytes[m], is_dust(tensor_bytes[m]));
    if (m < least.size()) least[m] = sums.LeastFrom(least[m]);
  }
  return least;
}

}  // namespace spillway
