#include "training/data/read_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "training/data/catch_read.h"

namespace spillway {
namespace {

// One call of ReadSamples. Its threads take the samples in order, each the next
// one. After an error they finish what they have taken: all samples before the
// one that failed, so that the lowest error is found.
class SamplesReader {
 public:
  SamplesReader(const Dataset& dataset, std::span<const int64_t> indices,
                std::span<std::byte* const> buffers, int64_t epoch)
      : dataset_(dataset),
        indices_(indices),
        buffers_(buffers),
        epoch_(epoch),
        failed_(indices.size()) {}

  absl::Status Run(size_t num_threads) {
    std::vector<std::jthread> helpers;
    try {
      while (helpers.size() + 1 < num_threads) {
        helpers.emplace_back([this] { TakeSamples(); });
      }
    } catch (const std::system_error&) {
      // The threads that exist do the work.
    }
    TakeSamples();
    helpers.clear();  // joins
    return error_;
  }

 private:
  // Runs on every thread.
  void TakeSamples() {
    for (size_t i = next_++; i < failed_; i = next_++) {
      absl::Status read =
          CatchRead(indices_[i], [this, i] { return ReadOne(i); });
      if (!read.ok()) SetFailed(i, std::move(read));
    }
  }

  absl::Status ReadOne(size_t i) const {
    std::vector<std::byte*> sample(buffers_.begin(), buffers_.end());
    for (size_t f = 0; f < sample.size(); ++f) {
      sample[f] += static_cast<int64_t>(i) * dataset_.fields()[f].num_bytes();
    }
    absl::Status read = dataset_.ReadInEpoch(epoch_, indices_[i], sample);
    if (read.ok()) return read;
    return Annotate(read, fmt::format("sample {}", indices_[i]));
  }

  void SetFailed(size_t i, absl::Status error) {
    const std::lock_guard lock(mutex_);
    if (i >= failed_) return;
    failed_ = i;
    error_ = std::move(error);
  }

  const Dataset& dataset_;
  const std::span<const int64_t> indices_;
  const std::span<std::byte* const> buffers_;
  const int64_t epoch_;
  std::atomic<size_t> next_ = 0;  // to be taken
  std::atomic<size_t> failed_;    // the lowest so far; written under mutex_
  std::mutex mutex_;
  absl::Status error_;  // of failed_
};

}  // namespace

absl::Status ReadSamples(const Dataset& dataset,
                         std::span<const int64_t> indices,
                         std::span<std::byte* const> buffers,
                         const ReadSamplesOptions& options) {
  const int threads =
      options.threads > 0 ? options.threads : dataset.reader_threads();
  return SamplesReader(dataset, indices, buffers, options.epoch)
      .Run(std::min(static_cast<size_t>(std::max(threads, 1)), indices.size()));
}

}  // namespace spillway
