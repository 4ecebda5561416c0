#include "graph/format/json_format.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_object.h"
#include "base/status_macros.h"
#include "base/topological_order.h"
#include "graph/format/json_nodes.h"
#include "graph/order/cycle.h"
#include "graph/verify.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "spillway.graph";
constexpr int kVersion = 1;

// An input before the graph exists: its indices in the file's lists.
struct InputEntry {
  int32_t node = 0;
  size_t output = 0;
};

// Reads one file: first entries, then names, types and the graph.
class GraphReader {
 public:
  explicit GraphReader(const OpRegistry& registry) : registry_(registry) {}

  absl::StatusOr<Graph> Read(const Json& json) {
    JsonObject file(json);
    const Json& nodes = ReadHeader(file);
    SPILLWAY_RETURN_IF_ERROR(file.status());
    SPILLWAY_RETURN_IF_ERROR(ReadEntries(nodes));
    SPILLWAY_RETURN_IF_ERROR(LookUpInputs());
    SPILLWAY_RETURN_IF_ERROR(InferMissingOutputs());
    SPILLWAY_ASSIGN_OR_RETURN(Graph graph, Assemble());
    SPILLWAY_RETURN_IF_ERROR(VerifyGraph(graph, registry_));
    return graph;
  }

 private:
  size_t size() const { return entries_.size(); }
  std::string DescribeNode(size_t i) const {
    return fmt::format("node '{}'", entries_[i].name);
  }

  // Returns the list of nodes.
  const Json& ReadHeader(JsonObject& file) {
    if (file.Text("format") != kFormat) {
      file.MustBe("format", fmt::format("\"{}\"", kFormat));
    }
    if (file.Integer("version") != kVersion) {
      file.MustBe("version", fmt::format("{}", kVersion));
    }
    if (file.Has("name")) name_ = file.Text("name");
    file.Has("metadata");  // of any kind, for other programs
    const Json& nodes = file.List("nodes");
    file.RefuseOtherFields();
    return nodes;
  }

  absl::Status ReadEntries(const Json& nodes) {
    entries_.reserve(nodes.size());
    for (const Json& json : nodes) {
      absl::StatusOr<NodeEntry> entry = ParseNodeEntry(json);
      if (!entry.ok()) {
        const std::string& name = JsonObject(json).Text("name");
        return Annotate(entry.status(),
                        name.empty()
                            ? fmt::format("node {} of the list", size())
                            : fmt::format("node {:?}", name));
      }
      entries_.push_back(*std::move(entry));
    }
    for (size_t i = 0; i < size(); ++i) {
      const auto index = static_cast<int32_t>(i);
      if (!by_name_.emplace(entries_[i].name, index).second) {
        return InvalidArgument(fmt::format(
            "{}: field \"name\": another node has this name", DescribeNode(i)));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int32_t> LookUpNode(std::string_view name) const {
    const auto it = by_name_.find(name);
    if (it != by_name_.end()) return it->second;
    return InvalidArgument(fmt::format("there is no node named {:?}", name));
  }

  // "node:index" or "node".
  absl::StatusOr<InputEntry> LookUpInput(std::string_view text) const {
    InputEntry input;
    const size_t colon = text.rfind(':');
    if (colon != std::string_view::npos) {
      const std::string_view digits = text.substr(colon + 1);
      const auto [end, error] =
          std::from_chars(digits.begin(), digits.end(), input.output);
      if (error != std::errc() || end != digits.end()) {
        return InvalidArgument(fmt::format(
            "{:?}: expected <node>:<output index> or <node>", text));
      }
    }
    SPILLWAY_ASSIGN_OR_RETURN(input.node, LookUpNode(text.substr(0, colon)));
    return input;
  }

  absl::Status LookUpInputs() {
    inputs_.resize(size());
    for (size_t i = 0; i < size(); ++i) {
      for (const std::string& text : entries_[i].inputs) {
        const absl::StatusOr<InputEntry> input = LookUpInput(text);
        if (!input.ok()) {
          return Annotate(input.status(),
                          fmt::format("{}: field \"inputs\"", DescribeNode(i)));
        }
        inputs_[i].push_back(*input);
      }
    }
    return absl::OkStatus();
  }

  // Types of the inputs of node `i`; the outputs of all its producers are
  // known.
  absl::StatusOr<std::vector<TensorType>> InputTypes(size_t i) const {
    std::vector<TensorType> types;
    for (const InputEntry& input : inputs_[i]) {
      const NodeEntry& producer = entries_[static_cast<size_t>(input.node)];
      if (input.output >= producer.outputs->size()) {
        return InvalidArgument(fmt::format(
            "{}: field \"inputs\": there is no {}:{}; the node has {}",
            DescribeNode(i), producer.name, input.output,
            Counted(producer.outputs->size(), "output")));
      }
      types.push_back((*producer.outputs)[input.output]);
    }
    return types;
  }

  absl::Status InferOutputsOf(size_t i) {
    NodeEntry& entry = entries_[i];
    const OpDef* def = registry_.Find(entry.op);
    if (def == nullptr) {
      return InvalidArgument(
          fmt::format("{}: field \"outputs\": must be stated, since the op "
                      "'{}' is not known",
                      DescribeNode(i), entry.op));
    }
    SPILLWAY_ASSIGN_OR_RETURN(const std::vector<TensorType> inputs,
                              InputTypes(i));
    auto outputs = InferOutputs(*def, {entry.attributes, inputs});
    if (!outputs.ok()) return Annotate(outputs.status(), DescribeNode(i));
    entry.outputs = *std::move(outputs);
    return absl::OkStatus();
  }

  // Infers outputs in an order in which inputs come first.
  absl::Status InferMissingOutputs() {
    const auto is_known = [&](NodeId id) {
      return entries_[id.index()].outputs.has_value();
    };
    IdMap<NodeId, int32_t> missing(size(), 0);  // inputs without a type
    IdMap<NodeId, std::vector<NodeId>> waiting(size());
    for (const NodeId id : missing.ids()) {
      if (is_known(id)) continue;
      for (const InputEntry& input : inputs_[id.index()]) {
        const NodeId producer(input.node);
        if (is_known(producer)) continue;
        ++missing[id];
        waiting[producer].push_back(id);
      }
    }
    TopologicalOrder<NodeId> order(std::move(missing));
    for (NodeId id = order.Next(); id.is_valid(); id = order.Next()) {
      if (is_known(id)) continue;
      SPILLWAY_RETURN_IF_ERROR(InferOutputsOf(id.index()));
      for (const NodeId after : waiting[id]) order.Arrive(after);
    }
    return order.is_complete() ? absl::OkStatus() : CycleError();
  }

  // Called when every node without outputs has an input without outputs.
  absl::Status CycleError() const {
    const auto is_stuck = [&](int32_t i) {
      return !entries_[static_cast<size_t>(i)].outputs.has_value();
    };
    int32_t start = 0;
    while (!is_stuck(start)) ++start;
    const auto waits_for = [&](int32_t i) {
      for (const InputEntry& input : inputs_[static_cast<size_t>(i)]) {
        if (is_stuck(input.node)) return input.node;
      }
      return i;
    };
    const auto name = [&](int32_t i) -> std::string_view {
      return entries_[static_cast<size_t>(i)].name;
    };
    return InvalidArgument(
        fmt::format("field \"inputs\": the graph has a cycle: {}",
                    DescribeCycle(start, waits_for, name)));
  }

  // Adds all nodes before any edge, since nodes may refer to later nodes.
  absl::StatusOr<Graph> Assemble() {
    Graph graph(name_);
    for (size_t i = 0; i < size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(InputTypes(i).status());
      NodeEntry& entry = entries_[i];
      graph.AddNode({.name = entry.name,
                     .op = std::move(entry.op),
                     .outputs = *entry.outputs,
                     .attributes = std::move(entry.attributes),
                     .placement = entry.placement,
                     .cost = entry.cost});
    }
    for (size_t i = 0; i < size(); ++i) {
      const NodeId id(i);
      std::vector<ValueId> inputs;
      for (const InputEntry& input : inputs_[i]) {
        inputs.push_back(graph.node(NodeId(input.node)).outputs[input.output]);
      }
      graph.SetInputs(id, inputs);
      SPILLWAY_RETURN_IF_ERROR(Annotate(
          AddControlEdges(i, graph),
          fmt::format("{}: field \"control_inputs\"", DescribeNode(i))));
    }
    return graph;
  }

  absl::Status AddControlEdges(size_t i, Graph& graph) const {
    for (const std::string& name : entries_[i].control_inputs) {
      SPILLWAY_ASSIGN_OR_RETURN(const int32_t before, LookUpNode(name));
      if (NodeId(before) == NodeId(i)) {
        return InvalidArgument("the node cannot wait for itself");
      }
      graph.AddControlEdge(NodeId(before), NodeId(i));
    }
    return absl::OkStatus();
  }

  const OpRegistry& registry_;
  std::string name_ = "graph";
  std::vector<NodeEntry> entries_;
  // Views of the entries' names; looked up, never iterated.
  std::unordered_map<std::string_view, int32_t> by_name_;
  std::vector<std::vector<InputEntry>> inputs_;  // of each entry
};

// On one line. Names that are not UTF-8 must not throw.
std::string FormatLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

absl::StatusOr<Graph> ParseGraph(std::string_view text, std::string_view source,
                                 const OpRegistry& registry) {
  SPILLWAY_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  absl::StatusOr<Graph> graph = GraphReader(registry).Read(json);
  if (!graph.ok()) return Annotate(graph.status(), source);
  return graph;
}

absl::StatusOr<Graph> ReadGraphFile(const std::string& path,
                                    const OpRegistry& registry) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseGraph(text, path, registry);
}

std::string FormatGraph(const Graph& graph) {
  std::string text = fmt::format(
      "{{\"format\": \"{}\", \"version\": {}, \"name\": {},\n"
      "\"nodes\": [",
      kFormat, kVersion, FormatLine(graph.name()));
  std::string_view separator = "\n";
  for (const Node& node : graph.nodes()) {
    text += separator;
    text += FormatLine(FormatNodeEntry(graph, node));
    separator = ",\n";
  }
  text += "\n]}\n";
  return text;
}

}  // namespace spillway
