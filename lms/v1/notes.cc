#include "lms/v1/notes.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "lms/v1/sources.h"

namespace spillway {
namespace {

// The original's name for the target of swap-outs.
constexpr const char* kHost = "/cpu:0";

// "'a', 'b'"
std::string Names(const Graph& graph, std::span<const NodeId> ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const NodeId id : ids) {
    names.push_back(fmt::format("'{}'", graph.node(id).name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

V1Notes::V1Notes(const LmsOptions& options, const Graph& graph,
                 const V1Orders& orders, std::vector<LogLine>& log)
    : options_(options), graph_(graph), orders_(orders), log_(log) {
  Warn();
  if (wants(1)) Begin();
}

void V1Notes::Add(int level, std::string text) {
  log_.push_back({.level = level, .text = std::move(text)});
}

void V1Notes::Warn() {
  if (options_.v1.lb == 0) {
    Add(0, "Warning: lms_lb is 0: a swap-in may start right before its reader");
  }
  for (const std::string& scope : options_.v1.optimizer_scopes) {
    const bool holds_any = std::ranges::any_of(
        graph_.nodes(),
        [&](const Node& node) { return node.name.starts_with(scope); });
    if (holds_any) continue;
    Add(0,
        fmt::format("Warning: no node lies in the optimizer scope {}", scope));
  }
  for (const std::string& type : AbsentTypes(options_, graph_)) {
    Add(0, fmt::format("Warning: no node has the op {}, which is to be "
                       "excluded or included",
                       type));
  }
  if (orders_.seeds.empty()) {
    Add(0,
        "Warning: no forward node that a gradient node reads leads to another "
        "such node, so there is no starting node and nothing is swapped");
  }
}

void V1Notes::Begin() {
  std::vector<std::string> seeds;
  for (const NodeId id : orders_.seeds) {
    const Node& node = graph_.node(id);
    seeds.push_back(fmt::format("('{}', '{}')", node.name, node.op));
  }
  Add(1, fmt::format("Starting ops: [{}]", fmt::join(seeds, ", ")));
  for (size_t i = 0; i < orders_.nodes_of_order.size(); ++i) {
    Add(1,
        fmt::format("[{}]: [{}]", i, Names(graph_, orders_.nodes_of_order[i])));
  }
}

void V1Notes::Visit(NodeId id) {
  if (wants(2)) Add(2, fmt::format("Operation: {}", graph_.node(id).name));
}

void V1Notes::Readers(std::span<const NodeId> readers) {
  if (!wants(2)) return;
  std::vector<NodeId> backward(readers.begin(), readers.end());
  std::erase_if(backward, [&](NodeId id) { return !orders_.is_gradient[id]; });
  Add(2, fmt::format("my frontier ops: {{{}}}", Names(graph_, readers)));
  Add(2, fmt::format("my bw frontier ops: {{{}}}", Names(graph_, backward)));
}

void V1Notes::Candidate(NodeId producer) {
  if (!wants(1)) return;
  const Node& node = graph_.node(producer);
  Add(1, fmt::format("Operation: {}, order {}, type {}", node.name,
                     orders_.order[producer], node.op));
}

void V1Notes::SwapOut(ValueId value) {
  if (!wants(1)) return;
  Add(1, fmt::format("Tensor {} will be placed on {}", graph_.ValueName(value),
                     kHost));
}

void V1Notes::SwapIn(ValueId value, const std::vector<NodeId>& readers) {
  if (!wants(1)) return;
  for (const NodeId reader : readers) {
    const std::string who = fmt::format(
        "{} (order {})", graph_.node(reader).name, orders_.order[reader]);
    const std::string tensor = graph_.ValueName(value);
    Add(1, readers.size() > 1
               ? fmt::format("{} reuses tensor {}", who, tensor)
               : fmt::format("Consuming op {} swaps in {}", who, tensor));
  }
}

void V1Notes::Trigger(NodeId producer, NodeId trigger) {
  if (!wants(1)) return;
  if (!trigger.is_valid()) {
    Add(1, fmt::format("No control dependency op needed for swap in of op {}.",
                       graph_.node(producer).name));
    return;
  }
  Add(1, fmt::format("Control dependency op {},  order: {}",
                     graph_.node(trigger).name, orders_.order[trigger]));
}

}  // namespace spillway
