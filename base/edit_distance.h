// The edit distance of two words: the fewest insertions, deletions and
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

// The name that a mistyped `word` probably means: the one of `names` with the
// least edit distance; ties go to the first. "" if that distance is more than a
// third of the word's bytes.
std::string NameMeantBy(std::string_view word,
                        const std::vector<std::string>& names);

}  // namespace spillway

#endif  // SPILLWAY_BASE_EDIT_DISTANCE_H_
