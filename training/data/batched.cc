#include "training/data/batched.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"
#include "training/data/read_samples.h"

namespace spillway {

Batched::Batched(const Dataset& base, const BatchOptions& options)
    : base_(base), options_(options) {
  if (options.batch_size <= 0) return;
  fields_ = FieldsOfRows(base, options.batch_size);
}

int64_t Batched::size() const {
  if (options_.batch_size <= 0) return 0;
  const bool has_rest = base_.size() % options_.batch_size != 0;
  const int64_t all = base_.size() / options_.batch_size +
                      (has_rest && !options_.drop_remainder ? 1 : 0);
  const int64_t from_first = std::max<int64_t>(0, all - options_.first);
  return (from_first + options_.every - 1) / options_.every;
}

absl::Status Batched::status() const {
  if (options_.batch_size > 0) return base_.status();
  return InvalidArgument(fmt::format("a batch size must be positive, not {}",
                                     options_.batch_size));
}

absl::Status Batched::Read(int64_t index,
                           std::span<std::byte* const> buffers) const {
  return ReadInEpoch(/*epoch=*/0, index, buffers);
}

absl::Status Batched::ReadInEpoch(int64_t epoch, int64_t index,
                                  std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(status());
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < options_.batch_size; ++i) {
    samples.push_back((number(index) * options_.batch_size + i) % base_.size());
  }
  return ReadSamples(base_, samples, buffers,
                     {.epoch = epoch, .threads = options_.reader_threads});
}

int64_t Batched::valid_samples(int64_t index) const {
  return std::min(options_.batch_size,
                  base_.size() - number(index) * options_.batch_size);
}

}  // namespace spillway
