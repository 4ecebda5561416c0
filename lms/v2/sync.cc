#include "lms/v2/sync.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "fmt/format.h"

namespace spillway {
namespace {

constexpr int64_t kLevelsTried = 10;

void SortUnique(std::vector<NodeId>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

bool Contains(const std::vector<NodeId>& ids, NodeId id) {
  return std::ranges::find(ids, id) != ids.end();
}

bool IsDeviceNode(const V2Roles& roles, NodeId id) {
  return id.index() < roles.on_device.size() && roles.on_device[id];
}

}  // namespace

TriggerSearch::TriggerSearch(const V2Context& context)
    : context_(context),
      is_known_(context.levels.level_of.size(), false),
      trigger_(context.levels.level_of.size()),
      met_for_(context.levels.level_of.size()) {}

NodeId TriggerSearch::Find(NodeId source, NodeId reader) {
  const V2Levels& levels = context_.levels;
  const int64_t latest =
      int64_t{levels.of(reader)} - context_.options.v2.swapin_ahead - 1;
  if (latest <= levels.of(source)) return {};
  if (!is_known_[reader]) {
    trigger_[reader] = Walk(reader);
    is_known_[reader] = true;
  }
  const NodeId trigger = trigger_[reader];
  if (!trigger.is_valid() || levels.of(trigger) <= levels.of(source)) return {};
  return trigger;
}

// Walks backward from the reader, latest level first.
NodeId TriggerSearch::Walk(NodeId reader) {
  const V2Levels& levels = context_.levels;
  const int64_t latest =
      int64_t{levels.of(reader)} - context_.options.v2.swapin_ahead - 1;
  const int64_t earliest = std::max<int64_t>(latest - kLevelsTried + 1, 0);
  std::priority_queue<std::pair<int32_t, int32_t>> open;  // level, -id
  const auto visit_producers = [&](NodeId id) {
    context_.view.ForEachProducer(id, [&](NodeId producer) {
      if (levels.of(producer) < earliest) return;
      if (met_for_[producer] == reader) return;
      met_for_[producer] = reader;
      open.emplace(levels.of(producer), -producer.value());
    });
  };
  visit_producers(reader);
  while (!open.empty()) {
    const auto [level, negative_id] = open.top();
    open.pop();
    const NodeId id(-negative_id);
    if (level <= latest && MayTrigger(id)) return id;
    visit_producers(id);
  }
  return {};
}

bool TriggerSearch::MayTrigger(NodeId id) const {
  const Node& node = context_.view.graph().node(id);
  return IsDeviceNode(context_.roles, id) &&
         !context_.storages.is_pure_alias(id) && !IsInsideBranch(node) &&
         !IsInsideLoop(node);
}

std::vector<NodeId> DevicePredecessors(const V2Context& context, NodeId id) {
  std::vector<NodeId> nodes;
  context.view.ForEachPredecessor(id, [&](NodeId before) {
    if (IsDeviceNode(context.roles, before)) nodes.push_back(before);
  });
  SortUnique(nodes);
  return nodes;
}

std::vector<NodeId> DeviceNodesBefore(const V2Context& context, NodeId id) {
  const int32_t level = context.levels.of(id) - 1;
  if (level < 0) return {};
  std::vector<NodeId> nodes = context.levels.nodes[static_cast<size_t>(level)];
  std::erase_if(nodes,
                [&](NodeId n) { return !IsDeviceNode(context.roles, n); });
  return nodes;
}

V2Sync::V2Sync(const V2Context& context, EditView& view,
               IncrementalOrder& order, std::vector<LogLine>& log,
               absl::FunctionRef<std::string(NodeId)> name)
    : context_(context), view_(view), order_(order), log_(log), name_(name) {}

void V2Sync::AddEdge(NodeId before, NodeId after, ValueId about) {
  if (order_.ClosesCycle(before, after)) {
    refused_.push_back(
        {about, fmt::format("the control edge {} -> {} would close a cycle",
                            name_(before), name_(after))});
    return;
  }
  view_.AddControlEdge(before, after);
  added_.push_back({.before = before, .after = after});
  if (context_.options.debug_level < 1) return;
  log_.push_back(
      {1, fmt::format("Control dependency: {} (level {}) => {} (level {})",
                      name_(before), context_.levels.of(before), name_(after),
                      context_.levels.of(after))});
}

void V2Sync::SyncToDevice(NodeId host) {
  const std::vector<NodeId> readers = DeviceReaders(host);
  if (readers.size() != 1) return;
  const NodeId reader = readers[0];
  LogPair("Do synchronization between {} and {}.", host, reader);
  std::vector<NodeId> ready = DevicePredecessors(context_, reader);
  if (!context_.options.compat) {
    std::erase_if(
        ready, [&](NodeId n) { return IsSourceOfData(view_.graph().node(n)); });
  }
  if (ready.empty()) ready = DeviceNodesBefore(context_, reader);
  const std::vector<NodeId> known = DevicePredecessors(context_, host);
  std::erase_if(ready, [&](NodeId n) { return Contains(known, n); });
  const ValueId about = ValueBetween(host, reader);
  for (const NodeId before : ready) AddEdge(before, host, about);
  if (ready.empty()) {
    LogPair("Could not do synchronization between {} and {}.", reader, host);
  }
}

void V2Sync::SyncToHost(NodeId host) {
  std::vector<NodeId> producers;
  view_.ForEachProducer(host, [&](NodeId producer) {
    if (IsOnDevice(producer)) producers.push_back(producer);
  });
  SortUnique(producers);
  if (producers.size() != 1) return;
  LogPair("Do synchronization between {} and {}.", producers[0], host);
  std::vector<NodeId> waiters = DeviceSuccessors(producers[0]);
  const std::vector<NodeId> known = DeviceSuccessors(host);
  std::erase_if(waiters, [&](NodeId n) { return Contains(known, n); });
  const ValueId about = ValueBetween(producers[0], host);
  for (const NodeId after : waiters) AddEdge(host, after, about);
  if (waiters.empty()) {
    LogPair("Could not do synchronization between {} and {}.", producers[0],
            host);
  }
}

bool V2Sync::IsOnDevice(NodeId id) const {
  return IsDeviceNode(context_.roles, id);
}

// The value of the original graph that flows from one node to the other.
ValueId V2Sync::ValueBetween(NodeId producer, NodeId reader) const {
  if (view_.IsSwap(producer)) return view_.ValueOf(producer);
  if (view_.IsSwap(reader)) return view_.ValueOf(reader);
  const Graph& graph = view_.graph();
  return *std::ranges::find_if(graph.node(reader).inputs, [&](ValueId value) {
    return graph.value(value).producer == producer;
  });
}

std::vector<NodeId> V2Sync::DeviceReaders(NodeId id) const {
  std::vector<NodeId> nodes;
  view_.ForEachReader(id, [&](NodeId reader) {
    if (IsOnDevice(reader)) nodes.push_back(reader);
  });
  SortUnique(nodes);
  return nodes;
}

std::vector<NodeId> V2Sync::DeviceSuccessors(NodeId id) const {
  std::vector<NodeId> nodes;
  view_.ForEachSuccessor(id, [&](NodeId after) {
    if (IsOnDevice(after)) nodes.push_back(after);
  });
  SortUnique(nodes);
  return nodes;
}

void V2Sync::LogPair(const char* text, NodeId a, NodeId b) {
  if (context_.options.debug_level < 1) return;
  log_.push_back({1, fmt::format(fmt::runtime(text), name_(a), name_(b))});
}

}  // namespace spillway
