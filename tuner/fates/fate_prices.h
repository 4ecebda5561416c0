// What another fate of a tensor would cost.
#ifndef SPILLWAY_TUNER_FATES_FATE_PRICES_H_
#define SPILLWAY_TUNER_FATES_FATE_PRICES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tuner/fates/joint_player.h"
#include "tuner/model/materialize.h"

namespace spillway {

// By Fate: the change of the step's predicted time if the storage had this fate
// in its longest gap, and all other fates were chosen anew. nullopt: it cannot
// have it, or nothing fits then. Negative: the tuner's choice was not the best.
struct FatePrice {
  StorageIndex storage = kNoStorage;
  std::array<std::optional<int64_t>, 3> change_ns = {};

  const std::optional<int64_t>& of(Fate fate) const {
    return change_ns[static_cast<size_t>(fate)];
  }
};

// The gap of the model in which the storage is unused for most steps; the first
// of several. Requires one.
size_t LongestGap(const RecomputeSpace& space, StorageIndex storage);

struct PriceOptions {
  // Storages smaller than this are always kept.
  int64_t size_threshold_bytes = 0;
  // Of the search for each fate of each storage.
  int64_t plays = 200;
};

// `chosen`: of the player's space; must fit its budget, else all prices are
// nullopt. Deterministic.
std::vector<FatePrice> PriceFates(const JointPlayer& player,
                                  const Fates& chosen,
                                  std::span<const StorageIndex> storages,
                                  const PriceOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_FATES_FATE_PRICES_H_
