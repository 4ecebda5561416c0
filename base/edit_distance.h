// How far two words are apart: the fewest insertions, deletions and
// replacements of single bytes that turn one into the other.
//
// Cost: O(size of a * size of b).
// Source: Wagner and Fischer, "The string-to-string correction problem",
// Journal of the ACM 21, 1974.
#ifndef SPILLWAY_BASE_EDIT_DISTANCE_H_
#define SPILLWAY_BASE_EDIT_DISTANCE_H_

#include <cstddef>
#include <string_view>

namespace spillway {

size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace spillway

#endif  // SPILLWAY_BASE_EDIT_DISTANCE_H_
