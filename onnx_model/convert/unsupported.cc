#include "onnx_model/convert/unsupported.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/status_macros.h"

namespace spillway::onnx_model {

void UnsupportedOps::Add(const std::string& op, const std::string& node,
                         const std::string& why) {
  Found& found = ops_[{op, why}];
  if (++found.count == 1) found.first_node = node;
}

absl::Status UnsupportedOps::Status() const {
  if (ops_.empty()) return absl::OkStatus();
  using Entry = decltype(ops_)::const_iterator;
  std::vector<Entry> entries;
  for (Entry entry = ops_.begin(); entry != ops_.end(); ++entry) {
    entries.push_back(entry);
  }
  std::ranges::stable_sort(entries, std::ranges::greater(),
                           [](Entry entry) { return entry->second.count; });
  std::vector<std::string> texts;
  for (const Entry entry : entries) {
    const auto& [op, why] = entry->first;
    texts.push_back(fmt::format("{} ({}, first {}{}{})", op,
                                entry->second.count, entry->second.first_node,
                                why.empty() ? "" : ": ", why));
  }
  return InvalidArgument(
      fmt::format("cannot import {}", fmt::join(texts, ", ")));
}

}  // namespace spillway::onnx_model
