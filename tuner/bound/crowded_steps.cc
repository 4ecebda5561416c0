#include "tuner/bound/crowded_steps.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace spillway {
namespace {

// The key of a feed among steps that write a tensor: it need not leave.
constexpr int32_t kFedEarly = -1;

// What the gaps around a step have together.
struct GapSums {
  int64_t count = 0;
  int64_t padding = 0;       // aligned less exact bytes
  int64_t absent_bytes = 0;  // exact, of the tensors that can be absent

  void Add(const GapSums& other, int64_t sign) {
    count += sign * other.count;
    padding += sign * other.padding;
    absent_bytes += sign * other.absent_bytes;
  }
};

class CrowdFinder {
 public:
  explicit CrowdFinder(const CrowdInputs& inputs)
      : inputs_(inputs),
        model_(inputs.model),
        budget_bytes_(AlignUp(inputs.budget_bytes, kBufferAlignment)) {}

  Crowd Run() {
    FindCrowdedKernels();
    LeaveOutSteps();
    SumTimes();
    std::vector<int32_t> around;
    size_t next_gap = 0;
    for (CrowdedStep& step : crowd_.steps) {
      for (; next_gap < model_.gaps.size() &&
             model_.gaps[next_gap].last < step.step;
           ++next_gap) {
        around.push_back(static_cast<int32_t>(next_gap));
      }
      std::erase_if(around,
                    [&](int32_t g) { return gap(g).next <= step.step; });
      Describe(around, step);
    }
    return std::move(crowd_);
  }

 private:
  const Gap& gap(int32_t index) const {
    return model_.gaps[static_cast<size_t>(index)];
  }
  const CopyOut& copy(const Gap& gap) const {
    return model_.copies[static_cast<size_t>(gap.copy_out)];
  }
  const ModelStep& step(int32_t index) const {
    return model_.steps[static_cast<size_t>(index)];
  }
  int64_t bytes(int32_t index) const { return copy(gap(index)).bytes; }

  // A tensor whose caller has it, and that no kernel has read yet.
  bool IsUnreadFeed(const Gap& gap) const {
    const CopyOut& fed = copy(gap);
    return fed.is_feed && gap.kernel == step(fed.written).first_kernel;
  }

  bool can_swap() const { return inputs_.in_rate > 0; }

  // Of a clone that fills the gap; kCannotRemake: there is none.
  int64_t RemakeNs(size_t index) const {
    const Gap& gap = model_.gaps[index];
    // Feeds that come late, though nothing else is copied.
    if (!can_swap() && IsUnreadFeed(gap)) return 0;
    const int64_t ns = inputs_.remake_ns[index];
    // No kernel needs the bytes again.
    const bool is_read = gap.kernel < static_cast<int32_t>(model_.steps.size());
    return ns != kCannotRemake && !is_read ? 0 : ns;
  }

  // By step; feeds and aliases too.
  std::vector<GapSums> SumGaps() const {
    std::vector<GapSums> sums(model_.steps.size() + 1);
    for (size_t i = 0; i < model_.gaps.size(); ++i) {
      const Gap& gap = model_.gaps[i];
      const int64_t exact = copy(gap).bytes;
      const bool can_leave = can_swap() || RemakeNs(i) != kCannotRemake;
      const GapSums own = {.count = 1,
                           .padding = gap.aligned_bytes - exact,
                           .absent_bytes = can_leave ? exact : 0};
      sums[static_cast<size_t>(gap.last) + 1].Add(own, 1);
      sums[static_cast<size_t>(gap.next)].Add(own, -1);
    }
    for (size_t k = 1; k < sums.size(); ++k) sums[k].Add(sums[k - 1], 1);
    return sums;
  }

  void FindCrowdedKernels() {
    const std::vector<GapSums> sums = SumGaps();
    for (size_t k = 0; k < model_.steps.size(); ++k) {
      const ModelStep& kernel = model_.steps[k];
      if (kernel.kind != StepKind::kCompute) continue;
      const int64_t absent = kernel.live_bytes - kernel.in_place_bytes -
                             budget_bytes_ - sums[k].padding;
      if (absent <= 0) continue;
      if (absent - sums[k].absent_bytes > crowd_.impossible_bytes) {
        crowd_.impossible_bytes = absent - sums[k].absent_bytes;
        crowd_.impossible_step = static_cast<int32_t>(k);
      }
      crowd_.steps.push_back(
          {.step = static_cast<int32_t>(k), .absent_bytes = absent});
      num_gaps_ += sums[k].count;
    }
  }

  // Keeps the most crowded step of each block.
  void LeaveOutSteps() {
    std::vector<CrowdedStep>& steps = crowd_.steps;
    const int64_t block = num_gaps_ / std::max<int64_t>(1, inputs_.most_gaps);
    if (block < 1) return;
    crowd_.has_all = false;
    std::vector<CrowdedStep> kept;
    for (size_t i = 0; i < steps.size(); ++i) {
      const bool is_new = i % static_cast<size_t>(block + 1) == 0;
      if (is_new) kept.push_back(steps[i]);
      if (steps[i].absent_bytes > kept.back().absent_bytes) {
        kept.back() = steps[i];
      }
    }
    steps = std::move(kept);
  }

  void SumTimes() {
    after_ns_.resize(model_.steps.size(), 0);
    for (size_t k = model_.steps.size(); k-- > 1;) {
      const ModelStep& kernel = model_.steps[k];
      after_ns_[k - 1] =
          after_ns_[k] + (kernel.kind == StepKind::kCompute ? kernel.ns : 0);
    }
  }

  void Describe(const std::vector<int32_t>& around, CrowdedStep& step) const {
    step.after_ns = after_ns_[static_cast<size_t>(step.step)];
    AddRemakes(around, step);
    if (!can_swap()) return;
    AddWritten(around, step);
    AddReturn(around, step);
  }

  void AddRemakes(const std::vector<int32_t>& around, CrowdedStep& step) const {
    std::vector<std::pair<RemakeItem, int32_t>> remakes;
    for (const int32_t index : around) {
      const int64_t ns = RemakeNs(static_cast<size_t>(index));
      if (ns == kCannotRemake) continue;
      // A larger tensor contributes no more: without it, the rest is not
      // needed, and with it, nothing else is.
      remakes.push_back(
          {{.bytes = std::min(bytes(index), step.absent_bytes), .ns = ns},
           index});
    }
    std::ranges::stable_sort(remakes, [](const auto& a, const auto& b) {
      return IsCheaper(a.first, b.first);
    });
    for (const auto& [item, index] : remakes) {
      step.gaps.push_back(index);
      step.remakes.push_back(item);
    }
  }

  // The gaps' bytes by `key`: those with the least key first.
  template <typename Key>
  std::vector<std::pair<int32_t, int64_t>> BytesBy(
      const std::vector<int32_t>& around, const Key& key) const {
    std::vector<std::pair<int32_t, int64_t>> result;
    result.reserve(around.size());
    for (const int32_t index : around) {
      result.emplace_back(key(gap(index)), bytes(index));
    }
    std::ranges::sort(result);
    return result;
  }

  void AddWritten(const std::vector<int32_t>& around, CrowdedStep& step) const {
    const auto written = [&](const Gap& gap) {
      return copy(gap).is_feed ? kFedEarly : copy(gap).written;
    };
    int64_t earlier = 0;
    for (const auto& [key, size] : BytesBy(around, written)) {
      if (key != kFedEarly &&
          (step.written.empty() || step.written.back().written != key)) {
        step.written.push_back({.written = key, .earlier_bytes = earlier});
      }
      earlier += size;
    }
  }

  void AddReturn(const std::vector<int32_t>& around, CrowdedStep& step) const {
    const auto latest_first = [](const Gap& gap) { return -gap.kernel; };
    const auto end = static_cast<int32_t>(model_.steps.size());
    int64_t later = 0;
    for (const auto& [key, size] : BytesBy(around, latest_first)) {
      if (-key < end) {
        const auto kernel = static_cast<size_t>(-key);
        const int64_t tail = model_.steps[kernel].ns + after_ns_[kernel];
        step.in_ns = std::max(step.in_ns,
                              static_cast<double>(tail) -
                                  static_cast<double>(later) / inputs_.in_rate);
      }
      later += size;
    }
  }

  const CrowdInputs& inputs_;
  const StepModel& model_;
  const int64_t budget_bytes_;
  Crowd crowd_;
  int64_t num_gaps_ = 0;  // around all crowded steps
  std::vector<int64_t> after_ns_;
};

}  // namespace

Crowd FindCrowdedSteps(const CrowdInputs& inputs) {
  return CrowdFinder(inputs).Run();
}

}  // namespace spillway
