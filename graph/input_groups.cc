#include "graph/input_groups.h"

#include <algorithm>

namespace spillway {
namespace {

// `first`, those of the first group, and those of the others.
std::vector<BufferPair> PairsOfAll(const OpDef& def,
                                   const std::vector<BufferPair>& first,
                                   size_t num_inputs) {
  std::vector<BufferPair> pairs = first;
  const auto outputs = static_cast<int>(def.outputs.size());
  for (int group = 1; group < NumGroups(def, num_inputs); ++group) {
    for (const BufferPair& pair : first) {
      pairs.push_back({.input = pair.input + group * def.group_inputs,
                       .output = pair.output + group * outputs});
    }
  }
  return pairs;
}

}  // namespace

int NumGroups(const OpDef& def, size_t num_inputs) {
  if (def.group_inputs == 0) return 1;
  const int shared = static_cast<int>(def.inputs.size()) - def.group_inputs;
  const int in_groups = static_cast<int>(num_inputs) - shared;
  return std::max(1, in_groups / def.group_inputs);
}

std::vector<BufferPair> AliasesOf(const OpDef& def, size_t num_inputs) {
  return PairsOfAll(def, def.alias, num_inputs);
}

std::vector<BufferPair> InPlacePairsOf(const OpDef& def, size_t num_inputs) {
  return PairsOfAll(def, def.in_place, num_inputs);
}

std::vector<int> MutatedInputs(const OpDef& def, size_t num_inputs) {
  std::vector<int> inputs = def.mutates;
  for (int group = 1; group < NumGroups(def, num_inputs); ++group) {
    for (const int input : def.mutates) {
      inputs.push_back(input + group * def.group_inputs);
    }
  }
  return inputs;
}

int AliasedInput(const OpDef& def, int output) {
  const auto outputs = static_cast<int>(def.outputs.size());
  const int group = def.group_inputs == 0 ? 0 : output / outputs;
  for (const BufferPair& pair : def.alias) {
    if (pair.output + group * outputs == output) {
      return pair.input + group * def.group_inputs;
    }
  }
  return -1;
}

}  // namespace spillway
