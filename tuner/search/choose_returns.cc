#include "tuner/search/choose_returns.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>

namespace spillway {
namespace {

constexpr size_t GapIndex(int32_t i) { return static_cast<size_t>(i); }

// Goes through the steps backwards. At each step, the tensors that are read
// later and not issued yet could be on the device. If there is too little room,
// those of the latest readers are issued.
class ReturnChooser {
 public:
  explicit ReturnChooser(const ReturnInputs& inputs)
      : model_(inputs.model),
        budget_bytes_(inputs.budget_bytes),
        start_ns_(inputs.start_ns),
        staying_bytes_(inputs.staying_bytes),
        by_next_(inputs.moved),
        by_first_(inputs.moved),
        back_after_(inputs.model.gaps.size(), -1) {
    std::ranges::stable_sort(by_next_, std::greater(), [&](int32_t index) {
      return model_.gaps[GapIndex(index)].next;
    });
  }

  // By gap.
  std::vector<int32_t> Run() {
    for (auto k = static_cast<int32_t>(model_.steps.size()) - 1; k >= 0; --k) {
      AddReadAt(k + 1);
      IssueThoseThatLeftAt(k);
      while (SkipIssued() && MustGiveWay(k)) Issue(by_next_[front_], k);
    }
    return std::move(back_after_);
  }

 private:
  const Gap& gap(int32_t index) const { return model_.gaps[GapIndex(index)]; }

  void AddReadAt(int32_t step) {
    for (; added_ < by_next_.size() && gap(by_next_[added_]).next == step;
         ++added_) {
      const Gap& added = gap(by_next_[added_]);
      lane_ns_ =
          std::min(lane_ns_, start_ns_[GapIndex(step)]) - added.copy_in_ns;
      must_begin_ns_.push_back(lane_ns_);
      early_bytes_ += added.aligned_bytes;
    }
  }

  // A tensor is away for at least one step.
  void IssueThoseThatLeftAt(int32_t k) {
    while (!by_first_.empty() && gap(by_first_.back()).last + 1 >= k) {
      const int32_t index = by_first_.back();
      by_first_.pop_back();
      if (back_after_[GapIndex(index)] < 0) Issue(index, k);
    }
  }

  // Returns false if no tensor is left.
  bool SkipIssued() {
    while (front_ < added_ && back_after_[GapIndex(by_next_[front_])] >= 0) {
      ++front_;
    }
    return front_ < added_;
  }

  bool MustGiveWay(int32_t k) const {
    return start_ns_[GapIndex(k) + 1] <= must_begin_ns_[front_] ||
           staying_bytes_[GapIndex(k)] + early_bytes_ > budget_bytes_;
  }

  void Issue(int32_t index, int32_t after) {
    back_after_[GapIndex(index)] = after;
    early_bytes_ -= gap(index).aligned_bytes;
  }

  const StepModel& model_;
  const int64_t budget_bytes_;
  const std::vector<int64_t>& start_ns_;
  const std::vector<int64_t>& staying_bytes_;
  std::vector<int32_t> by_next_;        // latest reader first
  std::vector<int32_t> by_first_;       // ascending by first step away
  size_t added_ = 0;                    // of by_next_
  size_t front_ = 0;                    // all before it are issued
  std::vector<int64_t> must_begin_ns_;  // by place in by_next_
  int64_t lane_ns_ = std::numeric_limits<int64_t>::max();
  int64_t early_bytes_ = 0;  // of those added and not issued
  std::vector<int32_t> back_after_;
};

}  // namespace

std::vector<int32_t> ChooseReturns(const ReturnInputs& inputs) {
  return ReturnChooser(inputs).Run();
}

}  // namespace spillway
