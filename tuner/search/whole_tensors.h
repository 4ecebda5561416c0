// Lower bounds on the bytes that have to move when only whole tensors can.
#ifndef SPILLWAY_TUNER_SEARCH_WHOLE_TENSORS_H_
#define SPILLWAY_TUNER_SEARCH_WHOLE_TENSORS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spillway {

// Considers every choice of tensors whose sizes sum to at least `bytes` (> 0).
// Element m is a lower bound on the bytes that the tensors from m on contribute
// to any such choice. Ends before the first m for which the bound is 0. Sums of
// sizes are rounded in the safe direction; if there are many small tensors,
// their bound is only what is missing to `bytes`. Cost: O(tensors) to O(128 *
// 2^14 / 64) each.
std::vector<int64_t> LeastFromRest(std::span<const int64_t> tensor_bytes,
                                   int64_t bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_WHOLE_TENSORS_H_
