// Bytes that have to move when only whole tensors can.
#ifndef SPILLWAY_TUNER_SEARCH_WHOLE_TENSORS_H_
#define SPILLWAY_TUNER_SEARCH_WHOLE_TENSORS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spillway {

// Of the tensors, some are chosen that have `bytes` (> 0) or more together. By
// m: the fewest bytes that the tensors from m on contribute in any choice that
// reaches `bytes`. Ends before the first m where that is none. Sums of sizes
// are rounded in the safe direction; where many tensors are small, only that
// they must reach `bytes` is used. Cost: O(tensors) to O(128 * 2^14 / 64) each.
std::vector<int64_t> LeastFromRest(std::span<const int64_t> tensor_bytes,
                                   int64_t bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_WHOLE_TENSORS_H_
