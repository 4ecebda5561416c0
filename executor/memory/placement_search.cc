#include "executor/memory/placement_search.h"

#include <numeric>
#include <utility>

namespace spillway {
namespace {

bool SpansAll(const PackingProblem& problem, size_t item) {
  return problem.items[item].pieces.empty() &&
         problem.items[item].span.length() == problem.num_sections();
}

std::vector<size_t> Pick(const std::vector<size_t>& ids,
                         const std::vector<size_t>& places) {
  std::vector<size_t> picked;
  picked.reserve(places.size());
  for (const size_t place : places) picked.push_back(ids[place]);
  return picked;
}

}  // namespace

PlacementSearch::PlacementSearch(const PackingProblem& problem,
                                 int64_t capacity)
    : capacity_(capacity),
      is_possible_(MaxLoad(problem) <= capacity),
      offsets_(problem.items.size(), 0) {
  if (!is_possible_) return;
  std::vector<size_t> ids(problem.items.size());
  std::iota(ids.begin(), ids.end(), size_t{0});
  TakeApart(problem, ids, 0);
}

// `ids`: indices in the whole problem of the items of `problem`; all lie above
// `bottom`.
void PlacementSearch::TakeApart(const PackingProblem& problem,
                                const std::vector<size_t>& ids,
                                int64_t bottom) {
  for (const std::vector<size_t>& group : SplitByTime(problem)) {
    PackingProblem part = Extract(problem, group);
    std::vector<size_t> part_ids = Pick(ids, group);
    std::vector<size_t> rest;
    int64_t rest_bottom = bottom;
    for (size_t i = 0; i < part_ids.size(); ++i) {
      if (SpansAll(part, i)) {
        offsets_[part_ids[i]] = rest_bottom;
        rest_bottom += part.items[i].size;
      } else {
        rest.push_back(i);
      }
    }
    if (rest.size() < part_ids.size()) {
      TakeApart(Extract(part, rest), Pick(part_ids, rest), rest_bottom);
    } else {
      open_.push_back(
          {.ids = std::move(part_ids),
           .bottom = bottom,
           .search = ConnectedSearch(std::move(part), capacity_ - bottom)});
    }
  }
}

SearchOutcome PlacementSearch::Continue(PackingEffort& effort) {
  if (!is_possible_) return SearchOutcome::kImpossible;
  for (; !open_.empty(); open_.pop_front()) {
    Part& part = open_.front();
    const SearchOutcome outcome = part.search.Continue(effort);
    if (outcome != SearchOutcome::kFound) return outcome;
    for (size_t i = 0; i < part.ids.size(); ++i) {
      offsets_[part.ids[i]] = part.bottom + part.search.offsets()[i];
    }
  }
  return SearchOutcome::kFound;
}

}  // namespace spillway
