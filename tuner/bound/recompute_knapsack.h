// The least time in which clones can compute given bytes a second time, at one
// step: a fractional knapsack, which is a lower bound for whole tensors.
//
//   ns                    .'   slope: nanoseconds per byte of a tensor, the
//    |             __..--'     cheapest first
//    |      __..--'
//    |__..-'
//    +---------------------> bytes
//
// Sources: Dantzig, "Discrete-variable extremum problems", Operations Research
// 5 (1957); Martello and Toth, "An upper bound for the zero-one knapsack
// problem and a branch and bound algorithm", European Journal of Operational
// Research 1 (1977), for MostBytes.
#ifndef SPILLWAY_TUNER_BOUND_RECOMPUTE_KNAPSACK_H_
#define SPILLWAY_TUNER_BOUND_RECOMPUTE_KNAPSACK_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spillway {

// A tensor that clones can compute again.
struct RemakeItem {
  int64_t bytes = 0;
  int64_t ns = 0;  // of the kernels that compute it
};

// By rising nanoseconds per byte. Not a total order: sort stably.
bool IsCheaper(const RemakeItem& a, const RemakeItem& b);

class RecomputeKnapsack {
 public:
  RecomputeKnapsack() = default;
  // Sorted by IsCheaper. An item that takes more than `most_ns` is left out: no
  // choice within `most_ns` has it.
  RecomputeKnapsack(std::span<const RemakeItem> items, int64_t most_ns);

  int64_t total_bytes() const { return bytes_.back(); }

  // At most the time of any choice of items with at least `bytes` together.
  // Infinite above total_bytes().
  double LeastNs(int64_t bytes) const;

  // At least the bytes of any choice that takes at most `ns` (>= 0).
  int64_t MostBytes(int64_t ns) const;

  // The bytes, at most total_bytes(), that minimise LeastNs(bytes) - bytes *
  // ns_per_byte.
  int64_t BytesUpToPrice(double ns_per_byte) const;

 private:
  // Of the item that ends at sum i.
  double BytesPerNs(size_t i) const;

  // Sums over the first i items, for every i.
  std::vector<int64_t> bytes_ = {0};
  std::vector<int64_t> ns_ = {0};
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_RECOMPUTE_KNAPSACK_H_
