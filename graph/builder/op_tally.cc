#include "graph/builder/op_tally.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace spillway {

void OpTally::Add(const std::string& op, const std::string& node,
                  const std::string& why) {
  for (Entry& entry : entries_) {
    if (entry.op != op || entry.why != why) continue;
    ++entry.count;
    return;
  }
  entries_.push_back({.op = op, .why = why, .count = 1, .first_node = node});
}

std::vector<OpTally::Entry> OpTally::Sorted() const {
  std::vector<Entry> sorted = entries_;
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Entry::count);
  return sorted;
}

std::string OpTally::ToString() const {
  std::vector<std::string> texts;
  for (const Entry& entry : Sorted()) {
    texts.push_back(fmt::format("{} ({}, first {}{}{})", entry.op, entry.count,
                                entry.first_node, entry.why.empty() ? "" : ": ",
                                entry.why));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace spillway
