#include "tests/support/random_graph.h"

#include <fmt/format.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/well_known_ops.h"

namespace spillway::testing {
namespace {

class Generator {
 public:
  explicit Generator(const RandomGraphOptions& options)
      : options_(options), random_(options.seed) {}

  Graph Make() {
    readable_.push_back(AddSource("input", kPlaceholder));
    std::vector<ValueId> ends = readable_;
    for (int i = 0; i < options_.forward_nodes; ++i) {
      forward_.push_back(AddForward(i, ends));
    }
    const NodeId loss =
        AddNode("loss", "PlanLoss", ends, {{DType::kFloat32, Shape()}});
    AddGradient(loss);
    for (auto it = forward_.rbegin(); it != forward_.rend(); ++it) {
      AddGradient(*it);
    }
    AddUpdates();
    return std::move(graph_);
  }

 private:
  // Not std:: distributions, which differ between libraries.
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool Happens(double probability) {
    return static_cast<double>(Below(1u << 20)) < probability * 0x1p20;
  }

  TensorType RandomType() {
    const auto rows = static_cast<int64_t>(1 + Below(8));
    const auto columns = int64_t{64} << Below(6);
    return {.dtype = DType::kFloat32, .shape = {rows, columns}};
  }

  NodeId AddNode(std::string name, std::string_view op,
                 std::vector<ValueId> inputs, std::vector<TensorType> outputs) {
    const NodeId id = graph_.AddNode({.name = std::move(name),
                                      .op = std::string(op),
                                      .inputs = std::move(inputs),
                                      .outputs = std::move(outputs)});
    gradients_.resize(graph_.num_values());
    return id;
  }

  // Adds a feed or a variable with the attributes that the real ops require.
  ValueId AddSource(std::string name, std::string_view op) {
    const TensorType type = RandomType();
    const NodeId id = graph_.AddNode(
        {.name = std::move(name),
         .op = std::string(op),
         .outputs = {type},
         .attributes = {{"dtype", type.dtype}, {"shape", type.shape}}});
    gradients_.resize(graph_.num_values());
    return graph_.output(id);
  }

  // Draws no random number if there are no aliases.
  bool HappensWithAlias() {
    return options_.alias_probability > 0 &&
           Happens(options_.alias_probability);
  }

  // Adds an alias of `of`.
  ValueId AddAlias(std::string name, ValueId of) {
    const bool is_reshape = Happens(0.7);
    TensorType type = graph_.type(of);
    Attributes attributes;
    if (is_reshape) {
      type.shape = {2, type.shape.num_elements() / 2};
      attributes.Set("shape", type.shape);
    }
    const NodeId id = graph_.AddNode({.name = std::move(name),
                                      .op = is_reshape ? "Reshape" : "Identity",
                                      .inputs = {of},
                                      .outputs = {type},
                                      .attributes = std::move(attributes)});
    gradients_.resize(graph_.num_values());
    return graph_.output(id);
  }

  ValueId AddForwardAlias(ValueId of) {
    const ValueId alias = AddAlias(fmt::format("a{}", num_aliases_++), of);
    forward_.push_back(graph_.value(alias).producer);
    readable_.push_back(alias);
    return alias;
  }

  // The gradient of an alias with one reader is an alias of that reader's
  // gradient.
  void AddAliasGradient(const Node& forward, ValueId gradient) {
    const NodeId id = graph_.AddNode(
        {.name = fmt::format("opt/gradients/{}", forward.name),
         .op = "Reshape",
         .inputs = {gradient},
         .outputs = {graph_.type(forward.inputs[0])},
         .attributes = {{"shape", graph_.type(forward.inputs[0]).shape}}});
    gradients_.resize(graph_.num_values());
    gradients_[forward.inputs[0]].push_back(graph_.output(id));
  }

  NodeId AddForward(int i, std::vector<ValueId>& ends) {
    std::vector<ValueId> inputs = {ends.back()};
    if (Happens(options_.branch_probability)) {
      inputs = {readable_[Below(readable_.size())]};
      ends.emplace_back();
    }
    if (Happens(options_.skip_probability)) {
      inputs.push_back(readable_[Below(readable_.size())]);
    }
    if (Happens(options_.variable_probability)) {
      variables_.push_back(AddSource(fmt::format("w{}", i), kVariable));
      inputs.push_back(variables_.back());
    }
    for (ValueId& input : inputs) {
      if (HappensWithAlias()) input = AddForwardAlias(input);
    }
    std::vector<TensorType> outputs = {RandomType()};
    if (Happens(options_.multi_output_probability)) {
      const TensorType other = RandomType();
      outputs.resize(2 + Below(2), other);
    }
    const NodeId id = AddNode(fmt::format("f{}", i), "PlanLayer",
                              std::move(inputs), std::move(outputs));
    for (const ValueId output : graph_.node(id).outputs) {
      readable_.push_back(output);
    }
    ends.back() = graph_.output(id);
    return id;
  }

  // Called for each node after all its consumers.
  void AddGradient(NodeId id) {
    const Node forward = graph_.node(id);  // a copy: adding moves nodes
    std::vector<ValueId> inputs;
    for (const ValueId output : forward.outputs) {
      inputs.insert(inputs.end(), gradients_[output].begin(),
                    gradients_[output].end());
    }
    const bool is_alias = forward.op == "Reshape" || forward.op == "Identity";
    if (is_alias && inputs.size() == 1) {
      AddAliasGradient(forward, inputs[0]);
      return;
    }
    const size_t num_gradients = inputs.size();
    std::vector<ValueId> candidates = forward.inputs;
    candidates.insert(candidates.end(), forward.outputs.begin(),
                      forward.outputs.end());
    for (const ValueId candidate : candidates) {
      if (!Happens(0.5)) continue;
      inputs.push_back(candidate);
      if (!HappensWithAlias()) continue;
      inputs.back() = AddAlias(
          fmt::format("opt/gradients/again{}", num_aliases_++), candidate);
    }
    if (inputs.size() == num_gradients) inputs.push_back(candidates.front());

    std::vector<TensorType> outputs;
    for (const ValueId input : forward.inputs) {
      outputs.push_back(graph_.type(input));
    }
    const NodeId gradient =
        AddNode(fmt::format("opt/gradients/{}", forward.name),
                forward.op + "Grad", std::move(inputs), std::move(outputs));
    for (size_t i = 0; i < forward.inputs.size(); ++i) {
      gradients_[forward.inputs[i]].push_back(
          graph_.output(gradient, static_cast<int>(i)));
    }
  }

  void AddUpdates() {
    for (const ValueId variable : variables_) {
      std::vector<ValueId> inputs = {variable, gradients_[variable].front()};
      AddNode(fmt::format("opt/update/{}", graph_.producer(variable).name),
              "PlanUpdate", std::move(inputs), {graph_.type(variable)});
    }
  }

  const RandomGraphOptions options_;
  std::mt19937_64 random_;
  Graph graph_{"random"};
  std::vector<NodeId> forward_;
  int num_aliases_ = 0;
  std::vector<ValueId> readable_;   // values that a forward node may read
  std::vector<ValueId> variables_;  // each has one reader and one gradient
  IdMap<ValueId, std::vector<ValueId>> gradients_;  // one for each use
};

}  // namespace

Graph RandomTrainingGraph(const RandomGraphOptions& options) {
  return Generator(options).Make();
}

}  // namespace spillway::testing
