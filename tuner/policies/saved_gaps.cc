#include "tuner/policies/saved_gaps.h"

namespace spillway {

std::vector<int32_t> SavedGaps(const StepModel& model) {
  std::vector<int64_t> change(model.steps.size() + 1, 0);
  for (const Gap& gap : model.gaps) {
    change[static_cast<size_t>(gap.last) + 1] += gap.aligned_bytes;
    change[static_cast<size_t>(gap.next)] -= gap.aligned_bytes;
  }
  int32_t fullest = -1;
  int64_t most = 0;
  int64_t waiting = 0;
  for (size_t k = 0; k < model.steps.size(); ++k) {
    waiting += change[k];
    if (waiting <= most) continue;
    most = waiting;
    fullest = static_cast<int32_t>(k);
  }
  std::vector<int32_t> gaps;
  for (size_t i = 0; i < model.gaps.size(); ++i) {
    if (Spans(model.gaps[i], fullest)) gaps.push_back(static_cast<int32_t>(i));
  }
  return gaps;
}

}  // namespace spillway
