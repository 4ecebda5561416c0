#include "training/data/batched.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"

namespace spillway {

Batched::Batched(const Dataset& base, const BatchOptions& options)
    : base_(base), options_(options) {
  if (options.batch_size <= 0) return;
  for (const TensorType& field : base.fields()) {
    std::vector<int64_t> dims = field.shape.dims();
    dims.insert(dims.begin(), options.batch_size);
    fields_.push_back({.dtype = field.dtype, .shape = Shape(std::move(dims))});
  }
}

int64_t Batched::size() const {
  if (options_.batch_size <= 0) return 0;
  const bool has_rest = base_.size() % options_.batch_size != 0;
  return base_.size() / options_.batch_size +
         (has_rest && !options_.drop_remainder ? 1 : 0);
}

absl::Status Batched::status() const {
  if (options_.batch_size > 0) return base_.status();
  return InvalidArgument(fmt::format("a batch size must be positive, not {}",
                                     options_.batch_size));
}

absl::Status Batched::Read(int64_t index,
                           std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(status());
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  std::vector<std::byte*> sample(buffers.begin(), buffers.end());
  for (int64_t i = 0; i < options_.batch_size; ++i) {
    const int64_t place = index * options_.batch_size + i;
    const absl::Status read = base_.Read(place % base_.size(), sample);
    if (!read.ok()) {
      return Annotate(read, fmt::format("sample {}", place % base_.size()));
    }
    for (size_t f = 0; f < sample.size(); ++f) {
      sample[f] += base_.fields()[f].num_bytes();
    }
  }
  return absl::OkStatus();
}

int64_t Batched::valid_samples(int64_t index) const {
  return std::min(options_.batch_size,
                  base_.size() - index * options_.batch_size);
}

}  // namespace spillway
