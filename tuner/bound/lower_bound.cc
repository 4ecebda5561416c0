#include "tuner/bound/lower_bound.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/units.h"
#include "tuner/search/whole_tensors.h"

namespace spillway {
namespace {

// The composition of a time on the longest path.
struct Moment {
  int64_t ns = 0;
  int64_t out_ns = 0;    // of it, waiting for copies to the host
  int64_t in_ns = 0;     // of it, waiting for copies to the device
  int64_t issue_ns = 0;  // of it, waiting for the host to issue a kernel
};

// The later of the two; the first if they are equal.
Moment Later(const Moment& a, const Moment& b) { return b.ns > a.ns ? b : a; }

// A step is bound by compute if its compute lane is idle for less than this
// fraction (1 / kLeastIdlePart).
constexpr int64_t kLeastIdlePart = 20;

// In place of the step that writes a tensor: the tensor is a feed, which is not
// copied out.
constexpr int32_t kFed = -1;

class Bound {
 public:
  Bound(const StepModel& model, const DeviceProfile& profile,
        int64_t budget_bytes)
      : model_(model),
        budget_bytes_(AlignUp(budget_bytes, kBufferAlignment)),
        issue_ns_(profile.issue_ns),
        out_rate_(BestRate(profile.to_host)),
        in_rate_(BestRate(profile.to_device)),
        end_(model.steps.size()),
        not_before_(model.steps.size() + 1) {
    for (size_t i = 0; i < model.gaps.size(); ++i) {
      next_gaps_.emplace(model.gaps[i].next, i);
    }
  }

  StepTimeBound Run() {
    Moment now;
    for (size_t k = 0; k < model_.steps.size(); ++k) {
      MoveTo(static_cast<int32_t>(k));
      const ModelStep& step = model_.steps[k];
      now = Later(now, not_before_[k]);
      if (step.kind != StepKind::kCompute) {
        end_[k] = now;
        if (step.kind == StepKind::kFeed) RequireFeed(step);
        continue;
      }
      const int64_t away = BytesAway(step);
      const int64_t issued_ns = ++num_issued_ * issue_ns_;
      now = Later(now, {.ns = issued_ns, .issue_ns = issued_ns});
      now = Later(now, BytesHaveLeft(away));
      now.ns += step.ns;
      end_[k] = now;
      RequireReturn(now, away);
    }
    return {.step_ns = now.ns,
            .kernels_ns = model_.kernels_ns,
            .out_ns = now.out_ns,
            .in_ns = now.in_ns,
            .issue_ns = now.issue_ns,
            .most_bytes_away = most_away_};
  }

 private:
  const CopyOut& CopyOf(const Gap& gap) const {
    return model_.copies[static_cast<size_t>(gap.copy_out)];
  }

  // The step before which the gap's tensor cannot leave.
  int32_t WrittenOf(const Gap& gap) const {
    const CopyOut& copy = CopyOf(gap);
    return copy.is_feed ? kFed : copy.written;
  }

  // Updates the set of gaps that contain the step.
  void MoveTo(int32_t step) {
    for (; next_gap_ < model_.gaps.size() && model_.gaps[next_gap_].last < step;
         ++next_gap_) {
      const Gap& gap = model_.gaps[next_gap_];
      by_written_.emplace(WrittenOf(gap), next_gap_);
      by_kernel_.emplace(-gap.kernel, next_gap_);
      padding_ += gap.aligned_bytes - CopyOf(gap).bytes;
    }
    while (!next_gaps_.empty() && next_gaps_.begin()->first <= step) {
      const size_t index = next_gaps_.begin()->second;
      const Gap& gap = model_.gaps[index];
      by_written_.erase({WrittenOf(gap), index});
      by_kernel_.erase({-gap.kernel, index});
      padding_ -= gap.aligned_bytes - CopyOf(gap).bytes;
      next_gaps_.erase(next_gaps_.begin());
    }
  }

  // A lower bound on the exact bytes that are off the device.
  int64_t BytesAway(const ModelStep& step) {
    const int64_t excess =
        step.live_bytes - step.in_place_bytes - budget_bytes_;
    most_away_ = std::max(most_away_, excess);
    return excess - padding_;
  }

  Moment BytesHaveLeft(int64_t away) const {
    Moment latest;
    if (away <= 0) return latest;
    const std::vector<int64_t> least = LeastFromRest(Sizes(by_written_), away);
    for (size_t m = 0; const auto& [written, index] : by_written_) {
      if (m == least.size()) break;
      const int64_t ns = CopyNs(least[m++], out_rate_);
      if (written == kFed) continue;
      const Moment& left = end_[static_cast<size_t>(written)];
      latest = Later(latest, {.ns = left.ns + ns,
                              .out_ns = left.out_ns + ns,
                              .in_ns = left.in_ns,
                              .issue_ns = left.issue_ns});
    }
    return latest;
  }

  // Sizes for the gaps that contain the current step, in the order of the set.
  std::vector<int64_t> Sizes(
      const std::set<std::pair<int32_t, size_t>>& gaps) const {
    std::vector<int64_t> sizes;
    sizes.reserve(gaps.size());
    for (const auto& [key, index] : gaps) {
      sizes.push_back(CopyOf(model_.gaps[index]).bytes);
    }
    return sizes;
  }

  static int64_t CopyNs(int64_t bytes, double rate) {
    return static_cast<int64_t>(static_cast<double>(bytes) / rate);
  }

  void RequireFeed(const ModelStep& feed) {
    if (feed.first_kernel < 0) return;
    Moment& kernel = not_before_[static_cast<size_t>(feed.first_kernel)];
    kernel = Later(kernel, {.ns = feed.ns, .in_ns = feed.ns});
  }

  void RequireReturn(const Moment& now, int64_t away) {
    if (away <= 0) return;
    const std::vector<int64_t> least = LeastFromRest(Sizes(by_kernel_), away);
    for (size_t m = 0; const auto& [negative_kernel, index] : by_kernel_) {
      if (m == least.size()) break;
      const int64_t ns = CopyNs(least[m++], in_rate_);
      Moment& next = not_before_[static_cast<size_t>(-negative_kernel)];
      next = Later(next, {.ns = now.ns + ns,
                          .out_ns = now.out_ns,
                          .in_ns = now.in_ns + ns,
                          .issue_ns = now.issue_ns});
    }
  }

  const StepModel& model_;
  // Aligned, since the last buffer in the arena need not fill its last bytes.
  const int64_t budget_bytes_;
  const int64_t issue_ns_;
  const double out_rate_;  // bytes per nanosecond
  const double in_rate_;
  std::vector<Moment> end_;         // by step
  std::vector<Moment> not_before_;  // by step; the last one: no kernel
  int64_t num_issued_ = 0;
  int64_t most_away_ = 0;
  // Gaps that contain the current step, and the sum of their alignment padding.
  std::set<std::pair<int32_t, size_t>> by_written_;
  std::set<std::pair<int32_t, size_t>> by_kernel_;  // by -kernel: latest first
  int64_t padding_ = 0;
  size_t next_gap_ = 0;  // the next one to enter
  // By Gap::next: those that are not over yet.
  std::set<std::pair<int32_t, size_t>> next_gaps_;
};

}  // namespace

std::string BoundReason(const StepTimeBound& bound) {
  // A wait that overlaps kernels costs no time, and a short wait hardly any.
  const int64_t idle_ns = bound.step_ns - bound.kernels_ns;
  if (idle_ns * kLeastIdlePart < bound.step_ns || idle_ns == 0) {
    return "compute";
  }
  if (bound.issue_ns > std::max(bound.out_ns, bound.in_ns)) {
    return "the host's calls";
  }
  return bound.out_ns >= bound.in_ns ? "copies to the host"
                                     : "copies to the device";
}

StepTimeBound LowerBound(const StepModel& model, const DeviceProfile& profile,
                         int64_t budget_bytes) {
  return Bound(model, profile, budget_bytes).Run();
}

}  // namespace spillway
