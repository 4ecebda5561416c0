#include "training/data/shuffled.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// 64 random bits reduced to [0, bound). The bias is below bound / 2^64.
uint64_t UniformBelow(uint64_t bound, uint64_t key, uint64_t counter) {
  const auto words = Philox4x32(key, counter);
  const uint64_t bits = (uint64_t{words[0]} << 32) | words[1];
  return bits % bound;
}

}  // namespace

std::vector<int64_t> RandomPermutation(int64_t size,
                                       const ShuffleOptions& options) {
  std::vector<int64_t> order(static_cast<size_t>(std::max<int64_t>(size, 0)));
  std::iota(order.begin(), order.end(), int64_t{0});
  const uint64_t key =
      MixKeys(options.seed, static_cast<uint64_t>(options.epoch));
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[UniformBelow(i, key, i)]);
  }
  return order;
}

Shuffled::Shuffled(const Dataset& base, const ShuffleOptions& options)
    : base_(base), order_(RandomPermutation(base.size(), options)) {}

absl::Status Shuffled::Read(int64_t index,
                            std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  return base_.Read(order_[static_cast<size_t>(index)], buffers);
}

}  // namespace spillway
