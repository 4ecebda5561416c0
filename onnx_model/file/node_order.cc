#include "onnx_model/file/node_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "base/status_macros.h"

namespace spillway::onnx_model {
namespace {

// Names that a subgraph reads and does not make itself.
void AddOuterReads(const onnx::GraphProto& graph,
                   std::vector<std::string>& reads) {
  std::set<std::string> inside;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    inside.insert(tensor.name());
  }
  for (const onnx::ValueInfoProto& input : graph.input()) {
    inside.insert(input.name());
  }
  for (const onnx::NodeProto& node : graph.node()) {
    inside.insert(node.output().begin(), node.output().end());
  }
  const auto add = [&](const std::string& name) {
    if (!inside.contains(name)) reads.push_back(name);
  };
  for (const onnx::NodeProto& node : graph.node()) {
    std::ranges::for_each(ReadsOf(node), add);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) add(output.name());
}

class Sorter {
 public:
  Sorter(std::span<const onnx::NodeProto* const> nodes,
         const std::set<std::string>& given)
      : nodes_(nodes), given_(given) {}

  absl::StatusOr<std::vector<const onnx::NodeProto*>> Sort() {
    SPILLWAY_RETURN_IF_ERROR(FindMakers());
    SPILLWAY_RETURN_IF_ERROR(FindReaders());
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (waits_[i] == 0) ready.push(i);
    }
    std::vector<const onnx::NodeProto*> sorted;
    while (!ready.empty()) {
      const size_t next = ready.top();
      ready.pop();
      sorted.push_back(nodes_[next]);
      for (const size_t reader : readers_[next]) {
        if (--waits_[reader] == 0) ready.push(reader);
      }
    }
    if (sorted.size() < nodes_.size()) return Cycle();
    return sorted;
  }

 private:
  absl::Status FindMakers() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::string& output : nodes_[i]->output()) {
        if (output.empty()) continue;
        const auto [other, is_new] = makers_.emplace(output, i);
        if (is_new && !given_.contains(output)) continue;
        return InvalidArgument(fmt::format(
            "{} makes the value {}, which {}", DescribeNode(*nodes_[i]), output,
            is_new ? "is an input or an initializer"
                   : DescribeNode(*nodes_[other->second]) + " makes too"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status FindReaders() {
    readers_.resize(nodes_.size());
    waits_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::string& read : ReadsOf(*nodes_[i])) {
        if (given_.contains(read)) continue;
        const auto maker = makers_.find(read);
        if (maker == makers_.end()) {
          return InvalidArgument(fmt::format("{} reads {}, which nothing makes",
                                             DescribeNode(*nodes_[i]), read));
        }
        readers_[maker->second].push_back(i);
        ++waits_[i];
      }
    }
    return absl::OkStatus();
  }

  // Some cycle: from a node that still waits, back along what it waits for.
  absl::Status Cycle() const {
    size_t at = 0;
    while (waits_[at] == 0) ++at;
    std::vector<size_t> path;
    std::vector<bool> is_on_path(nodes_.size());
    while (!is_on_path[at]) {
      path.push_back(at);
      is_on_path[at] = true;
      for (const std::string& read : ReadsOf(*nodes_[at])) {
        const auto maker = makers_.find(read);
        if (maker == makers_.end() || waits_[maker->second] == 0) continue;
        at = maker->second;
        break;
      }
    }
    path.erase(path.begin(), std::ranges::find(path, at));
    constexpr size_t kShown = 5;
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(path.size(), kShown); ++i) {
      names.push_back(DescribeNode(*nodes_[path[i]]));
    }
    return InvalidArgument(
        fmt::format("{} nodes read each other in a circle: "
                    "{}{}",
                    path.size(), fmt::join(names, ", "),
                    path.size() > kShown ? ", ..." : ""));
  }

  const std::span<const onnx::NodeProto* const> nodes_;
  const std::set<std::string>& given_;
  std::map<std::string, size_t> makers_;
  std::vector<std::vector<size_t>> readers_;
  std::vector<int> waits_;
};

}  // namespace

std::string DescribeNode(const onnx::NodeProto& node) {
  if (!node.name().empty()) {
    return fmt::format("{} {}", node.op_type(), node.name());
  }
  if (node.output().empty()) return node.op_type();
  return fmt::format("{} of output {}", node.op_type(), node.output(0));
}

std::vector<std::string> ReadsOf(const onnx::NodeProto& node) {
  std::vector<std::string> reads;
  for (const std::string& input : node.input()) {
    if (!input.empty()) reads.push_back(input);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) AddOuterReads(attribute.g(), reads);
    for (const onnx::GraphProto& graph : attribute.graphs()) {
      AddOuterReads(graph, reads);
    }
  }
  return reads;
}

absl::StatusOr<std::vector<const onnx::NodeProto*>> SortNodes(
    std::span<const onnx::NodeProto* const> nodes,
    const std::set<std::string>& given) {
  return Sorter(nodes, given).Sort();
}

absl::StatusOr<std::vector<const onnx::NodeProto*>> SortSubgraph(
    const onnx::GraphProto& graph) {
  std::vector<const onnx::NodeProto*> nodes;
  for (const onnx::NodeProto& node : graph.node()) nodes.push_back(&node);
  std::vector<std::string> outside;
  AddOuterReads(graph, outside);
  std::set<std::string> given(outside.begin(), outside.end());
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    given.insert(tensor.name());
  }
  return SortNodes(nodes, given);
}

}  // namespace spillway::onnx_model
