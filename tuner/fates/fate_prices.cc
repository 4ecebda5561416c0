#include "tuner/fates/fate_prices.h"

#include <algorithm>
#include <utility>

#include "tuner/fates/joint_search.h"

namespace spillway {
namespace {

constexpr std::array<Fate, 3> kAllFates = {Fate::kKept, Fate::kSwapped,
                                           Fate::kRecomputed};

class Pricer {
 public:
  Pricer(const JointPlayer& player, const Fates& chosen,
         const PriceOptions& options)
      : player_(player),
        space_(player.space()),
        options_(options),
        step_(player.Play(chosen)) {}

  FatePrice Price(StorageIndex storage) const {
    FatePrice price = {.storage = storage};
    if (!step_) return price;
    for (const Fate fate : kAllFates) {
      price.change_ns[static_cast<size_t>(fate)] = ChangeNs(storage, fate);
    }
    return price;
  }

 private:
  std::optional<int64_t> ChangeNs(StorageIndex storage, Fate fate) const {
    const size_t gap = LongestGap(space_, storage);
    if (!MayHave(gap, fate)) return std::nullopt;
    if (step_->fates.of_gap[gap] == fate) return 0;
    Fates fates = step_->fates;
    fates.of_gap[gap] = fate;
    std::vector<char> pinned(space_.num_gaps(), 0);
    pinned[gap] = 1;
    const std::optional<JointStep> step =
        SearchFates(player_.Pinned(std::move(pinned)), {std::move(fates)},
                    {.size_threshold_bytes = options_.size_threshold_bytes,
                     .plays = options_.plays,
                     .fit_plays = options_.plays,
                     .heat = 0.002,
                     .usual_seeds = false});
    if (!step) return std::nullopt;
    return step->played.step_ns - step_->played.step_ns;
  }

  bool MayHave(size_t gap, Fate fate) const {
    switch (fate) {
      case Fate::kKept:
        return true;
      case Fate::kSwapped:
        return space_.model.gaps[gap].is_movable && player_.MayLeave(gap);
      case Fate::kRecomputed:
        return space_.can_recompute[gap] != 0;
    }
    return false;
  }

  const JointPlayer& player_;
  const RecomputeSpace& space_;
  const PriceOptions& options_;
  const std::optional<JointStep> step_;
};

}  // namespace

size_t LongestGap(const RecomputeSpace& space, StorageIndex storage) {
  const std::vector<int32_t>& gaps =
      space.gaps_of[static_cast<size_t>(storage)];
  return static_cast<size_t>(
      *std::ranges::max_element(gaps, {}, [&](int32_t index) {
        const Gap& gap = space.model.gaps[static_cast<size_t>(index)];
        return gap.next - gap.last;
      }));
}

std::vector<FatePrice> PriceFates(const JointPlayer& player,
                                  const Fates& chosen,
                                  std::span<const StorageIndex> storages,
                                  const PriceOptions& options) {
  const Pricer pricer(player, chosen, options);
  std::vector<FatePrice> prices;
  prices.reserve(storages.size());
  for (const StorageIndex storage : storages) {
    prices.push_back(pricer.Price(storage));
  }
  return prices;
}

}  // namespace spillway
