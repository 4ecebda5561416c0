#include "training/data/shuffled.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <stdexcept>
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
    : base_(base), epoch_(options.epoch) {
  try {
    order_ = RandomPermutation(base.size(), options);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
}

absl::Status Shuffled::status() const {
  if (order_.empty() && base_.size() > 0) {
    return ResourceExhausted(fmt::format(
        "the order of {} samples does not fit in memory", base_.size()));
  }
  return base_.status();
}

absl::Status Shuffled::Read(int64_t index,
                            std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(status());
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  const int64_t place = order_[static_cast<size_t>(index)];
  absl::Status read = base_.ReadInEpoch(epoch_, place, buffers);
  if (read.ok()) return read;
  return Annotate(read, fmt::format("before shuffling, sample {}", place));
}

}  // namespace spillway
