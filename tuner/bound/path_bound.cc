#include "tuner/bound/path_bound.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "base/units.h"
#include "tuner/search/whole_tensors.h"

namespace spillway {
namespace {

// The later of the two; the first if they are equal.
PathMoment Later(const PathMoment& a, const PathMoment& b) {
  return b.ns > a.ns ? b : a;
}

// In place of the step that writes a tensor: the tensor is a feed, which is not
// copied out.
constexpr int32_t kFed = -1;

// As LeastFromRest without the rounding.
std::vector<int64_t> MissingFrom(std::span<const int64_t> sizes,
                                 int64_t bytes) {
  std::vector<int64_t> missing;
  for (const int64_t size : sizes) {
    if (bytes <= 0) break;
    missing.push_back(bytes);
    bytes -= size;
  }
  return missing;
}

// Gaps that contain a step, by a key and then by index.
class GapsByKey {
 public:
  struct Entry {
    int32_t key = 0;
    int32_t gap = 0;
    int64_t bytes = 0;

    friend bool operator<(const Entry& a, const Entry& b) {
      return std::pair(a.key, a.gap) < std::pair(b.key, b.gap);
    }
  };

  void Add(const Entry& entry) {
    entries_.insert(std::ranges::lower_bound(entries_, entry, std::less<>()),
                    entry);
  }
  void Remove(const Entry& entry) {
    entries_.erase(std::ranges::lower_bound(entries_, entry, std::less<>()));
  }

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

class PathFinder {
 public:
  explicit PathFinder(const PathInputs& inputs)
      : inputs_(inputs),
        model_(inputs.model),
        budget_bytes_(AlignUp(inputs.budget_bytes, kBufferAlignment)),
        out_rate_(BestRate(inputs.profile.to_host)),
        in_rate_(BestRate(inputs.profile.to_device)),
        not_before_(model_.steps.size() + 1) {
    path_.starts.resize(model_.steps.size());
    path_.ends.resize(model_.steps.size());
    by_next_.resize(model_.gaps.size());
    std::iota(by_next_.begin(), by_next_.end(), 0);
    std::ranges::stable_sort(by_next_, {},
                             [&](int32_t g) { return gap(g).next; });
  }

  StepPath Run() {
    PathMoment now;
    for (size_t k = 0; k < model_.steps.size(); ++k) {
      MoveTo(static_cast<int32_t>(k));
      const ModelStep& step = model_.steps[k];
      now = Later(now, not_before_[k]);
      if (step.kind == StepKind::kFeed) RequireFeed(step);
      if (step.kind == StepKind::kCompute) {
        now = RunKernel(static_cast<int32_t>(k), now);
      } else {
        path_.starts[k] = path_.ends[k] = now;
      }
    }
    path_.end = now;
    return std::move(path_);
  }

 private:
  const Gap& gap(int32_t index) const {
    return model_.gaps[static_cast<size_t>(index)];
  }
  const CopyOut& copy(int32_t index) const {
    return model_.copies[static_cast<size_t>(gap(index).copy_out)];
  }

  // By the step before which the gap's tensor cannot leave.
  GapsByKey::Entry ByWritten(int32_t index) const {
    const CopyOut& out = copy(index);
    return {.key = out.is_feed ? kFed : out.written,
            .gap = index,
            .bytes = out.bytes};
  }

  // By the kernel that needs the tensor back, the latest first.
  GapsByKey::Entry ByKernel(int32_t index) const {
    return {
        .key = -gap(index).kernel, .gap = index, .bytes = copy(index).bytes};
  }

  // Updates the set of gaps that contain the step.
  void MoveTo(int32_t step) {
    const auto num_gaps = static_cast<int32_t>(model_.gaps.size());
    for (; next_begin_ < num_gaps && gap(next_begin_).last < step;
         ++next_begin_) {
      by_written_.Add(ByWritten(next_begin_));
      by_kernel_.Add(ByKernel(next_begin_));
      padding_ += gap(next_begin_).aligned_bytes - copy(next_begin_).bytes;
    }
    for (; next_end_ < by_next_.size() && gap(by_next_[next_end_]).next <= step;
         ++next_end_) {
      const int32_t ended = by_next_[next_end_];
      by_written_.Remove(ByWritten(ended));
      by_kernel_.Remove(ByKernel(ended));
      padding_ -= gap(ended).aligned_bytes - copy(ended).bytes;
    }
  }

  PathMoment RunKernel(int32_t k, PathMoment now) {
    const ModelStep& step = model_.steps[static_cast<size_t>(k)];
    const int64_t issued_ns = ++num_issued_ * inputs_.profile.issue_ns;
    now = Later(now, {.ns = issued_ns, .issue_ns = issued_ns});
    const int64_t copied = BytesCopied(k, now.ns);
    now = Later(now, BytesHaveLeft(k, copied));
    path_.starts[static_cast<size_t>(k)] = now;
    now.ns += step.ns;
    path_.ends[static_cast<size_t>(k)] = now;
    RequireReturn(k, copied);
    return now;
  }

  // A lower bound on the exact bytes that are off the device and that a copy
  // brings back.
  int64_t BytesCopied(int32_t k, int64_t start_ns) {
    const ModelStep& step = model_.steps[static_cast<size_t>(k)];
    const int64_t excess =
        step.live_bytes - step.in_place_bytes - budget_bytes_;
    path_.most_bytes_away = std::max(path_.most_bytes_away, excess);
    const int64_t away = excess - padding_;
    if (away <= 0 || !inputs_.most_recomputed_bytes) return away;
    return away - inputs_.most_recomputed_bytes(k, start_ns);
  }

  PathMoment BytesHaveLeft(int32_t k, int64_t bytes) const {
    PathMoment latest;
    if (bytes <= 0) return latest;
    const std::vector<int64_t> least = LeastFrom(by_written_, bytes);
    for (size_t m = 0; m < least.size(); ++m) {
      const int32_t written = by_written_.entries()[m].key;
      if (written == kFed) continue;
      const int64_t ns = CopyNs(least[m], out_rate_);
      const PathMoment& left = path_.ends[static_cast<size_t>(written)];
      latest = Later(latest, {.ns = left.ns + ns,
                              .out_ns = left.out_ns + ns,
                              .in_ns = left.in_ns,
                              .issue_ns = left.issue_ns,
                              .step = k});
    }
    return latest;
  }

  // Element m: a lower bound on the bytes, of `bytes` in total, that the gaps
  // from the m-th on contribute.
  std::vector<int64_t> LeastFrom(const GapsByKey& gaps, int64_t bytes) const {
    std::vector<int64_t> sizes;
    sizes.reserve(gaps.entries().size());
    for (int64_t left = bytes; const GapsByKey::Entry& entry : gaps.entries()) {
      if (left <= 0 && !inputs_.rounds_to_whole_tensors) break;
      sizes.push_back(entry.bytes);
      left -= entry.bytes;
    }
    return inputs_.rounds_to_whole_tensors ? LeastFromRest(sizes, bytes)
                                           : MissingFrom(sizes, bytes);
  }

  static int64_t CopyNs(int64_t bytes, double rate) {
    return static_cast<int64_t>(static_cast<double>(bytes) / rate);
  }

  void RequireFeed(const ModelStep& feed) {
    if (feed.first_kernel < 0) return;
    PathMoment& kernel = not_before_[static_cast<size_t>(feed.first_kernel)];
    kernel = Later(kernel, {.ns = feed.ns, .in_ns = feed.ns});
  }

  void RequireReturn(int32_t k, int64_t bytes) {
    if (bytes <= 0) return;
    const PathMoment& now = path_.ends[static_cast<size_t>(k)];
    const std::vector<int64_t> least = LeastFrom(by_kernel_, bytes);
    for (size_t m = 0; m < least.size(); ++m) {
      const int64_t ns = CopyNs(least[m], in_rate_);
      const int32_t kernel = -by_kernel_.entries()[m].key;
      PathMoment& next = not_before_[static_cast<size_t>(kernel)];
      next = Later(next, {.ns = now.ns + ns,
                          .out_ns = now.out_ns,
                          .in_ns = now.in_ns + ns,
                          .issue_ns = now.issue_ns,
                          .step = k});
    }
  }

  const PathInputs& inputs_;
  const StepModel& model_;
  // Aligned, since the last buffer in the arena need not fill its last bytes.
  const int64_t budget_bytes_;
  const double out_rate_;  // bytes per nanosecond
  const double in_rate_;
  StepPath path_;
  std::vector<PathMoment> not_before_;  // by step; the last one: no kernel
  int64_t num_issued_ = 0;
  // Gaps that contain the current step, and the sum of their alignment padding.
  GapsByKey by_written_;
  GapsByKey by_kernel_;
  int64_t padding_ = 0;
  int32_t next_begin_ = 0;        // the next gap to enter
  std::vector<int32_t> by_next_;  // gaps by Gap::next
  size_t next_end_ = 0;           // the next of them to leave
};

}  // namespace

StepPath LongestPath(const PathInputs& inputs) {
  return PathFinder(inputs).Run();
}

}  // namespace spillway
