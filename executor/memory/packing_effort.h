// A limit on the work of a search. It counts operations instead of time, so
// that the same problem always gets the same answer.
#ifndef SPILLWAY_EXECUTOR_MEMORY_PACKING_EFFORT_H_
#define SPILLWAY_EXECUTOR_MEMORY_PACKING_EFFORT_H_

#include <algorithm>
#include <cstdint>
#include <functional>

namespace spillway {

class PackingEffort {
 public:
  // `stop` (may be empty) is called now and then; it is borrowed.
  PackingEffort(int64_t limit, const std::function<bool()>& stop)
      : left_(limit), stop_(&stop) {}

  // Takes a part of what is left, to be spent separately and then given back.
  PackingEffort Take(int64_t amount) {
    PackingEffort part = *this;
    part.left_ = std::max<int64_t>(0, std::min(amount, left_));
    left_ -= part.left_;
    return part;
  }
  void GiveBack(const PackingEffort& part) {
    left_ += part.left_;
    until_asked_ = part.until_asked_;
    is_stopped_ = part.is_stopped_;
  }

  void Spend(int64_t amount) {
    left_ -= amount;
    until_asked_ -= amount;
    if (until_asked_ > 0) return;
    until_asked_ = kAskEvery;
    is_stopped_ = is_stopped_ || (*stop_ && (*stop_)());
  }

  int64_t left() const { return left_; }
  bool exhausted() const { return is_stopped_ || left_ <= 0; }

 private:
  static constexpr int64_t kAskEvery = 1'000'000;

  int64_t left_ = 0;  // below 0 if too much was spent
  const std::function<bool()>* stop_ = nullptr;
  int64_t until_asked_ = kAskEvery;
  bool is_stopped_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_PACKING_EFFORT_H_
