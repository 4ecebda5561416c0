#include "base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace spillway {

// row[j]: the distance between the bytes of a read so far and the first j of b.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (const char letter : a) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j < row.size(); ++j) {
      const size_t replaced = diagonal + (b[j - 1] == letter ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string NameMeantBy(std::string_view word,
                        const std::vector<std::string>& names) {
  const auto distance = [&](const std::string& name) {
    return EditDistance(word, name);
  };
  const auto nearest = std::ranges::min_element(names, {}, distance);
  const bool is_near =
      nearest != names.end() && distance(*nearest) <= word.size() / 3;
  return is_near ? *nearest : "";
}

}  // namespace spillway
