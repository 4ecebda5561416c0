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

  // Matches the output if that is possible; others of the matched outputs may
  // then have another input.
  void Add(int output) {
    std::set<int> tried;
    Augment(output, tried);
  }

  std::vector<int> Take() && { return std::move(input_of_); }

 private:
  // False: it is not possible.
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

// Matches the heaviest output alone.
std::vector<int> MatchOne(std::span<const BufferPair> pairs,
                          std::span<const int64_t> output_bytes) {
  std::vector<int> input_of(output_bytes.size(), -1);
  const BufferPair* best = nullptr;
  for (const BufferPair& pair : pairs) {
    const auto is_better = [&] {
      const int64_t bytes = output_bytes[static_cast<size_t>(pair.output)];
      const int64_t best_bytes =
          output_bytes[static_cast<size_t>(best->output)];
      return bytes > best_bytes ||
             (bytes == best_bytes && pair.output < best->output);
    };
    if (best == nullptr || is_better()) best = &pair;
  }
  if (best != nullptr)
    input_of[static_cast<size_t>(best->output)] = best->input;
  return input_of;
}

}  // namespace

std::vector<int> MatchInPlace(std::span<const BufferPair> pairs,
                              std::span<const int64_t> output_bytes,
                              bool together) {
  if (!together || pairs.size() == 1) return MatchOne(pairs, output_bytes);
  std::vector<int> outputs(output_bytes.size());
  std::iota(outputs.begin(), outputs.end(), 0);
  std::ranges::stable_sort(outputs, std::ranges::greater(), [&](int output) {
    return output_bytes[static_cast<size_t>(output)];
  });
  Matching matching(pairs, output_bytes.size());
  for (const int output : outputs) matching.Add(output);
  return std::move(matching).Take();
}

}  // namespace spillway
