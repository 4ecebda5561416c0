#include "training/data/subset.h"

#include "base/status_macros.h"

namespace spillway {

absl::Status Subset::Read(int64_t index,
                          std::span<std::byte* const> buffers) const {
  return ReadInEpoch(/*epoch=*/0, index, buffers);
}

absl::Status Subset::ReadInEpoch(int64_t epoch, int64_t index,
                                 std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  return base_.ReadInEpoch(epoch, begin_ + index, buffers);
}

}  // namespace spillway
