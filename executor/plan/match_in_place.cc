#include "executor/plan/match_in_place.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace spillway {
namespace {

// The weight of a pair is that of its output alone, so the outputs that can be
// matched together form a matroid (a transversal matroid: Edmonds and
// Fulkerson, "Transversals and matroid partition", 1965): taking the heaviest
// output that an augmenting path still allows, again and again, gives the best
// matching.
class Matching {
 public:
  Matching(std::span<const BufferPair> pairs, size_t num_outputs)
      : pairs_(pairs), input_of_(num_outputs, -1) {}

  // Matches the output, which may give others of the matched outputs another
  // input. False if that is impossible.
  bool Add(int output) {
    std::set<int> tried;
    return Augment(output, tried);
  }

  std::vector<int> Take() && { return std::move(input_of_); }

 private:
  bool Augment(int output, std::set<int>& tried) {
    for (const BufferPair& pair : pairs_) {
      if (pair.output != output || !tried.insert(pair.input).second) continue;
      const auto taken = output_of_.find(pair.input);
      if (taken != output_of_.end() && !Augment(taken->second, tried)) continue;
      output_of_[pair.input] = output;
      input_of_[static_cast<size_t>(output)] = pair.input;
      return true;
    }
    return false;
  }

  const std::span<const BufferPair> pairs_;
  std::vector<int> input_of_;     // by output; -1: none
  std::map<int, int> output_of_;  // by input
};

}  // namespace

std::vector<int> MatchInPlace(std::span<const BufferPair> pairs,
                              std::span<const int64_t> output_bytes,
                              bool together) {
  std::vector<int> outputs(output_bytes.size());
  std::iota(outputs.begin(), outputs.end(), 0);
  std::ranges::stable_sort(outputs, std::ranges::greater(), [&](int output) {
    return output_bytes[static_cast<size_t>(output)];
  });
  Matching matching(pairs, output_bytes.size());
  for (const int output : outputs) {
    if (matching.Add(output) && !together) break;
  }
  return std::move(matching).Take();
}

}  // namespace spillway
