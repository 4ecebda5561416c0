// Synthetic packing problems (executor/memory/static_packing.h): equal
// parameters give equal items.
#ifndef SPILLWAY_TESTS_SUPPORT_PACKING_INSTANCES_H_
#define SPILLWAY_TESTS_SUPPORT_PACKING_INSTANCES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "executor/memory/static_packing.h"

namespace spillway::testing {

// About `size` buffers of a training step over a chain of layers. Half of them
// are kept from their layer's forward step to its backward step, the others
// are scratch and gradients of a few steps:
//
//   kept     [================]
//              [============]
//                [========]
//   others     -   --  - -  --
std::vector<PackingItem> ChainItems(uint64_t seed, size_t size);

// The same with each kept buffer swapped out after its forward step and back in
// before its backward step: two items of a few steps each in place of one.
//
//   kept     [==]          [==]
//              [==]      [==]
//                [==]  [==]
//   others     -   --  - -  --
std::vector<PackingItem> SwappedChainItems(uint64_t seed, size_t size);

struct RandomItemsOptions {
  uint64_t seed = 0;
  size_t size = 40;
  int64_t steps = 20;      // all lifetimes lie in [0, steps)
  int64_t max_length = 6;  // of a lifetime
  int64_t max_bytes = 20;
  double gap_probability = 0.0;  // if a lifetime has room for a gap
};
std::vector<PackingItem> RandomItems(const RandomItemsOptions& options);

struct GuillotineOptions {
  uint64_t seed = 0;
  size_t size = 100;  // items
  int64_t steps = 1000;
  int64_t bytes = 1 << 20;
};
// Items whose best placement has a height of exactly `bytes` and no hole: the
// rectangle of steps and bytes, repeatedly cut in two across a randomly chosen
// piece; in random order. Fewer items if no piece can be cut any more.
std::vector<PackingItem> GuillotineItems(const GuillotineOptions& options);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_PACKING_INSTANCES_H_
