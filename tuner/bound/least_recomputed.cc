#include "tuner/bound/least_recomputed.h"

#include <algorithm>

namespace spillway {
namespace {

// Times of copies are sums of rounded times, which may be this much shorter.
constexpr double kSlackNs = 1;

// The result is at most this part of the absent bytes too low.
constexpr int64_t kBracketParts = 4096;

// Limits of r: the bytes that clones compute again.
class RecomputedRange {
 public:
  RecomputedRange(const Cut& cut, const LinkRates& rates, int64_t step_ns)
      : cut_(cut),
        rates_(rates),
        absent_bytes_(static_cast<double>(cut.absent_bytes)),
        fixed_ns_(static_cast<double>(step_ns - cut.kernel_ns) + kSlackNs),
        spare_ns_(step_ns - cut.start_ns - cut.kernel_ns - cut.after_ns) {}

  std::optional<int64_t> Least() {
    if (spare_ns_ < 0) return std::nullopt;
    // Nothing is copied, or the copies are hidden.
    most_ = std::min(cut_.absent_bytes, cut_.remakes.MostBytes(spare_ns_));
    least_ = cut_.absent_bytes - MostSwapped();
    if (least_ > most_) return std::nullopt;
    if (least_ == cut_.absent_bytes || IsTimely(least_)) return least_;
    return LeastTimely();
  }

 private:
  // By the time of the copies alone.
  int64_t MostSwapped() const {
    if (rates_.out <= 0 || rates_.in <= 0) return 0;
    const auto start = static_cast<double>(cut_.start_ns);
    const auto after = static_cast<double>(cut_.after_ns);
    const double out = (fixed_ns_ - cut_.out_ns - after) * rates_.out;
    const double in = (fixed_ns_ - start - cut_.in_ns) * rates_.in;
    const double both = (fixed_ns_ - cut_.out_ns - cut_.in_ns) /
                        (1 / rates_.out + 1 / rates_.in);
    const double bytes = std::min({absent_bytes_, out, in, both});
    return static_cast<int64_t>(std::max(0.0, bytes));
  }

  // Whether the copies to the host, the kernels after them and the clones fit.
  bool IsTimely(int64_t recomputed) const { return ExcessNs(recomputed) <= 0; }

  double ExcessNs(int64_t recomputed) const {
    const auto swapped = absent_bytes_ - static_cast<double>(recomputed);
    return cut_.out_ns + swapped / rates_.out +
           static_cast<double>(cut_.after_ns) +
           cut_.remakes.LeastNs(recomputed) - fixed_ns_;
  }

  // At most the least solution between least_, which is none, and most_.
  std::optional<int64_t> LeastTimely() const {
    int64_t timely =
        std::clamp(cut_.remakes.BytesUpToPrice(1 / rates_.out), least_, most_);
    if (!IsTimely(timely)) return std::nullopt;
    int64_t late = least_;
    while (timely - late > cut_.absent_bytes / kBracketParts + 1) {
      const int64_t middle = late + (timely - late) / 2;
      (IsTimely(middle) ? timely : late) = middle;
    }
    return late + 1;
  }

  const Cut& cut_;
  const LinkRates& rates_;
  const double absent_bytes_;
  const double fixed_ns_;   // for all but the kernel itself
  const int64_t spare_ns_;  // for clones
  int64_t least_ = 0;
  int64_t most_ = 0;
};

}  // namespace

std::optional<int64_t> LeastRecomputedBytes(const Cut& cut,
                                            const LinkRates& rates,
                                            int64_t step_ns) {
  return RecomputedRange(cut, rates, step_ns).Least();
}

}  // namespace spillway
