// How far two words are apart: the fewest insertions, deletions and
// replacements of single bytes that turn one into the other.
//
// Cost: O(size of a * size of b).
// Source: Wagner and Fischer, "The string-to-string correction problem",
// Journal of the ACM 21, 1974.
#ifndef SPILLWAY_BASE_EDIT_DISTANCE_H_
#define SPILLWAY_BASE_EDIT_DISTANCE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

size_t EditDistance(std::string_view a, std::string_view b);

// The nearest of `names` to a word that is none of them, the first of equals;
// "" where even that is more than a third of the word's bytes away.
std::string NameMeantBy(std::string_view word,
                        const std::vector<std::string>& names);

}  // namespace spillway

#endif  // SPILLWAY_BASE_EDIT_DISTANCE_H_
