#include "tools/spillway/output/onnx_json.h"

#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "base/units.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace spillway {
namespace {

Json ValuesJson(const std::vector<OnnxValue>& values) {
  Json json = Json::array();
  for (const OnnxValue& value : values) {
    json.push_back({{"name", value.name},
                    {"type", value.element_type},
                    {"shape", value.tensor.shape().dims()}});
  }
  return json;
}

Json VariablesJson(const std::vector<OnnxVariable>& variables) {
  Json json = Json::array();
  for (const OnnxVariable& variable : variables) {
    json.push_back({{"name", variable.name},
                    {"onnx_name", variable.initializer},
                    {"shape", variable.shape.dims()},
                    {"onnx_shape", variable.dims.dims()},
                    {"parts", variable.parts.dims()},
                    {"perm", variable.perm},
                    {"trainable", variable.is_trainable}});
  }
  return json;
}

Json UnsupportedJson(const std::vector<OnnxUnsupported>& unsupported) {
  Json json = Json::array();
  for (const OnnxUnsupported& op : unsupported) {
    json.push_back({{"op", op.op},
                    {"domain", op.domain},
                    {"count", op.count},
                    {"first_node", op.first_node},
                    {"why", op.why}});
  }
  return json;
}

struct VariableCounts {
  int64_t trained = 0;
  int64_t parameters = 0;  // elements of these
  int64_t others = 0;
};

VariableCounts Count(const std::vector<OnnxVariable>& variables) {
  VariableCounts counts;
  for (const OnnxVariable& variable : variables) {
    if (!variable.is_trainable) {
      ++counts.others;
      continue;
    }
    ++counts.trained;
    counts.parameters += variable.dims.num_elements();
  }
  return counts;
}

// A line for each: "plan-only    2 com.acme.Foo, first a/Foo: attribute b".
std::string FormatUnsupported(const std::vector<OnnxUnsupported>& unsupported) {
  std::string text;
  for (const OnnxUnsupported& op : unsupported) {
    text += fmt::format("{:<13}{} {}{}{}, first {}{}{}\n",
                        text.empty() ? "plan-only" : "", op.count, op.domain,
                        op.domain.empty() ? "" : ".", op.op, op.first_node,
                        op.why.empty() ? "" : ": ", op.why);
  }
  return text;
}

std::string FormatValues(const char* title,
                         const std::vector<OnnxValue>& values) {
  std::string text;
  for (const OnnxValue& value : values) {
    text += fmt::format("{:<13}{} {}\n", text.empty() ? title : "", value.name,
                        value.tensor.type().ToString());
  }
  return text;
}

}  // namespace

int64_t CountTransposes(const Graph& graph) {
  return std::ranges::count_if(graph.nodes(), [](const Node& node) {
    return node.op == "Transpose" &&
           node.name.find("/gradients/") == std::string::npos;
  });
}

Json OnnxJson(const OnnxNetwork& network, int64_t transposes) {
  const OnnxFacts& facts = network.facts;
  const VariableCounts counts = Count(network.variables);
  return {{"file", facts.file},
          {"ir_version", facts.ir_version},
          {"opset", facts.opset},
          {"producer", facts.producer},
          {"nodes", facts.nodes},
          {"folded_nodes", facts.folded_nodes},
          {"fused_nodes", facts.fused_nodes},
          {"transposes", transposes},
          {"inputs", ValuesJson(network.inputs)},
          {"outputs", ValuesJson(network.outputs)},
          {"parameters", counts.parameters},
          {"parameter_bytes",
           counts.parameters * static_cast<int64_t>(sizeof(float))},
          {"variables", VariablesJson(network.variables)},
          {"unsupported", UnsupportedJson(network.unsupported)}};
}

std::string FormatOnnx(const OnnxNetwork& network, const Graph& graph) {
  const OnnxFacts& facts = network.facts;
  const VariableCounts counts = Count(network.variables);
  const int64_t bytes = counts.parameters * static_cast<int64_t>(sizeof(float));
  std::string text = fmt::format(
      "model        {}, opset {}, IR {}{}{}\n", facts.file, facts.opset,
      facts.ir_version, facts.producer.empty() ? "" : ", ", facts.producer);
  text += FormatValues("inputs", network.inputs);
  text += FormatValues("outputs", network.outputs);
  text += fmt::format(
      "nodes        {} ONNX nodes -> {} ({} folded, {}{} left)\n"
      "parameters   {} ({}) in {}; {} not trained\n"
      "layout       channels last inside; feeds and fetches as in the model\n",
      facts.nodes, graph.num_nodes(), facts.folded_nodes,
      facts.fused_nodes > 0 ? fmt::format("{} fused, ", facts.fused_nodes) : "",
      Counted(CountTransposes(graph), "transpose"), counts.parameters,
      FormatBytes(bytes), Counted(counts.trained, "variable"),
      counts.others == 1 ? "1 more is"
                         : fmt::format("{} more are", counts.others));
  return text + FormatUnsupported(network.unsupported);
}

}  // namespace spillway
