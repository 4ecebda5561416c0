// A lower bound on the time of clones that must cover missing bytes at several
// steps. A clone counts once, at all steps of its tensor's gap:
//
//   minimise   sum over tensors g of ns_g r_g,   0 <= r_g <= 1,
//   such that  sum over g in row k of min(bytes_g, N_k) r_g >= N_k for all k.
//
// (A whole tensor covers a row alone if it has N_k bytes, so the minimum does
// not cut off any choice of whole tensors.) Every choice of prices p_k >= 0 per
// byte gives the bound
//
//   sum over k of p_k N_k
//     - sum over g of max(0, sum over k of min(bytes_g, N_k) p_k - ns_g),
//
// by linear programming duality. Dual ascent sets one price at a time to the
// best value, which is a break point of a concave function.
//
// Source: Carr, Fleischer, Leung, Phillips, "Strengthening integrality gaps for
// capacitated network design and covering problems" (2000), for the minimum.
#ifndef SPILLWAY_TUNER_BOUND_COVERING_BOUND_H_
#define SPILLWAY_TUNER_BOUND_COVERING_BOUND_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/bound/recompute_knapsack.h"

namespace spillway {

struct CoverRow {
  int64_t missing_bytes = 0;        // N_k (> 0)
  std::vector<int32_t> items = {};  // different indices of tensors
};

struct Covering {
  // At most the time of any choice of items that covers all rows.
  int64_t ns = 0;
  int32_t row = -1;  // pays the most of it
  bool is_possible = true;
};

// Stops early when the bound exceeds `enough_ns`. Cost: O(rows * items of a row
// * log), eight times at most.
Covering CoveringBound(std::span<const RemakeItem> items,
                       std::span<const CoverRow> rows, int64_t enough_ns);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_COVERING_BOUND_H_
