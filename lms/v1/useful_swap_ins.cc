#include "lms/v1/useful_swap_ins.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "fmt/format.h"
#include "lms/storage_readers.h"

namespace spillway {

std::vector<SwapIn> UsefulSwapIns::Find(ValueId value,
                                        const std::vector<NodeId>& readers) {
  const int32_t stays_until = LastDirectReader(value, readers);
  std::vector<SwapIn> swap_ins = parts_.options.v1.fuse_swapins
                                     ? OneForAll(value, readers, stays_until)
                                     : OneEach(value, readers, stays_until);
  for (SwapIn& swap_in : swap_ins) {
    swap_in.aliases = AliasesReadBy(parts_.graph, parts_.storages,
                                    parts_.storages.of(value), swap_in.readers);
  }
  return swap_ins;
}

// The level of the last node that reads the device copy, or of its producer.
int32_t UsefulSwapIns::LastDirectReader(
    ValueId value, const std::vector<NodeId>& moved) const {
  int32_t last = parts_.levels[parts_.graph.value(value).producer];
  const Swap swap = {.value = value, .swap_ins = {{.readers = moved}}};
  for (const NodeId id : DirectReaders(parts_.graph, parts_.storages, swap)) {
    last = std::max(last, parts_.levels[id]);
  }
  return last;
}

std::vector<SwapIn> UsefulSwapIns::OneEach(ValueId value,
                                           const std::vector<NodeId>& readers,
                                           int32_t stays_until) {
  std::vector<SwapIn> moved;
  for (const NodeId reader : readers) {
    SwapIn swap_in = {.readers = {reader},
                      .triggers = TriggersOf(value, reader)};
    if (swap_in.triggers.empty()) {
      stays_until = std::max(stays_until, parts_.levels[reader]);
      Drop(value, "no trigger for", reader);
    } else {
      moved.push_back(std::move(swap_in));
    }
  }
  KeepUsefulGaps(value, stays_until, moved);
  return moved;
}

// A reader whose trigger is not later than the last direct reader reads the
// device copy itself, which may close the gap of other readers. So check the
// earliest trigger first.
void UsefulSwapIns::KeepUsefulGaps(ValueId value, int32_t stays_until,
                                   std::vector<SwapIn>& moved) {
  const auto trigger_level = [&](const SwapIn& swap_in) {
    return parts_.levels[swap_in.triggers[0]];
  };
  std::ranges::stable_sort(moved, {}, trigger_level);
  auto kept = moved.begin();
  for (; kept != moved.end() && trigger_level(*kept) <= stays_until; ++kept) {
    const NodeId reader = kept->readers[0];
    Drop(value, "no useful gap before", reader);
    stays_until = std::max(stays_until, parts_.levels[reader]);
  }
  moved.erase(moved.begin(), kept);
}

// Moves the last readers, as many as possible with a gap before the first of
// them.
std::vector<SwapIn> UsefulSwapIns::OneForAll(ValueId value,
                                             std::vector<NodeId> readers,
                                             int32_t stays_until) {
  std::ranges::stable_sort(readers, {},
                           [&](NodeId id) { return parts_.orders.order[id]; });
  for (size_t i = 0; i < readers.size(); ++i) {
    std::vector<NodeId> triggers = TriggersOf(value, readers[i]);
    if (triggers.empty()) {
      Drop(value, "no trigger for", readers[i]);
    } else if (parts_.levels[triggers[0]] <= stays_until) {
      Drop(value, "no useful gap before", readers[i]);
    } else {
      readers.erase(readers.begin(),
                    readers.begin() + static_cast<std::ptrdiff_t>(i));
      std::ranges::sort(readers);
      return {{.readers = readers, .triggers = std::move(triggers)}};
    }
    stays_until = std::max(stays_until, parts_.levels[readers[i]]);
  }
  return {};
}

// One trigger, or none.
std::vector<NodeId> UsefulSwapIns::TriggersOf(ValueId value, NodeId reader) {
  const NodeId producer = parts_.graph.value(value).producer;
  const NodeId trigger = parts_.triggers.Find(producer, reader);
  parts_.notes.Trigger(producer, trigger);
  if (!trigger.is_valid()) return {};
  return {trigger};
}

void UsefulSwapIns::Drop(ValueId value, std::string_view why, NodeId reader) {
  parts_.dropped.push_back(
      {.value = value,
       .reason = fmt::format("{} {}", why, parts_.graph.node(reader).name)});
}

}  // namespace spillway
