#include "graph/order/cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace spillway {
namespace {

constexpr size_t kShownAtEachEnd = 10;

}  // namespace

std::string DescribeCycle(int32_t start,
                          absl::FunctionRef<int32_t(int32_t)> waits_for,
                          absl::FunctionRef<std::string_view(int32_t)> name) {
  std::vector<int32_t> walk;
  std::unordered_map<int32_t, size_t> place;  // looked up, never iterated
  int32_t node = start;
  while (place.emplace(node, walk.size()).second) {
    walk.push_back(node);
    node = waits_for(node);
  }
  // The walk went against the edges; nodes before the cycle are not part of it.
  std::vector<int32_t> cycle(
      walk.begin() + static_cast<std::ptrdiff_t>(place[node]), walk.end());
  std::ranges::reverse(cycle);
  std::rotate(cycle.begin(), std::ranges::min_element(cycle), cycle.end());

  std::string text;
  for (size_t i = 0; i < cycle.size(); ++i) {
    const bool is_hidden =
        i >= kShownAtEachEnd && i + kShownAtEachEnd < cycle.size();
    if (!is_hidden) text += fmt::format("{} -> ", name(cycle[i]));
    if (is_hidden && i == kShownAtEachEnd) {
      text += fmt::format("... {} more ... -> ",
                          cycle.size() - 2 * kShownAtEachEnd);
    }
  }
  return text += name(cycle.front());
}

}  // namespace spillway
