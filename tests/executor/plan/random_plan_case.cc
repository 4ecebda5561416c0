#include "tests/executor/plan/random_plan_case.h"

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fmt/format.h"
#include "tests/support/toy_ops.h"

namespace spillway::testing {
namespace {

class Generator {
 public:
  explicit Generator(const RandomPlanOptions& options)
      : options_(options), random_(options.seed) {}

  PlanCase Make() {
    AddSource("F");
    while (graph_.num_nodes() < static_cast<size_t>(options_.nodes)) AddAny();
    PlanCase result;
    result.options.fetches = SomeFetches();
    result.options.workspace_bytes = SomeWorkspaces();
    result.graph = std::move(graph_);
    const OpRegistry ops = ToyOps();
    if (OneIn(3)) {
      result.keep = NodesToRun(result.graph, ops, result.options.fetches);
    } else {
      result.keep = IdMap<NodeId, bool>(result.graph.num_nodes(), true);
    }
    const absl::StatusOr<Schedule> schedule = MakeSchedule(
        result.graph, ops, result.keep, SomePreference(result.graph));
    SPILLWAY_CHECK(schedule.ok());
    result.schedule = *schedule;
    AddResidents(result.graph, ops, result.schedule, "",
                 result.options.residents);
    return result;
  }

 private:
  // Not std:: distributions, which differ between libraries.
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  template <typename T>
  T AnyOf(const std::vector<T>& items) {
    return items[Below(items.size())];
  }

  NodeId AnyNode() { return NodeId(Below(graph_.num_nodes())); }

  TensorType SomeType() {
    const auto bytes =
        static_cast<int64_t>(OneIn(32) ? 0 : 1 + Below(OneIn(2) ? 2000 : 512));
    return {.dtype = DType::kUInt8, .shape = {bytes}};
  }

  NodeId Add(std::string_view op, std::vector<ValueId> inputs,
             std::vector<TensorType> outputs,
             std::vector<NodeId> control_inputs = {},
             Placement placement = Placement::kDevice) {
    if (OneIn(8) && graph_.num_nodes() > 0) control_inputs.push_back(AnyNode());
    return graph_.AddNode({.name = fmt::format("{}{}", op, graph_.num_nodes()),
                           .op = std::string(op),
                           .inputs = std::move(inputs),
                           .control_inputs = std::move(control_inputs),
                           .outputs = std::move(outputs),
                           .placement = placement});
  }

  void AddSource(std::string_view op) {
    readable_.push_back(graph_.output(Add(op, {}, {SomeType()})));
  }

  void AddAny() {
    switch (Below(14)) {
      case 0:
        return AddSource(OneIn(2) ? kPlaceholder : "F");
      case 1:
        return AddVariable();
      case 2:
        return AddUpdate();
      case 3:
        return AddOneToOne("Alias");
      case 4:
        return AddInPlaceBoth();
      case 5:
        return AddOneToOne("InPlace");
      case 6:
      case 7:
        return AddSwapOut();
      case 8:
      case 9:
      case 10:
        return AddSwapIn();
      default:
        return AddPlain();
    }
  }

  void AddVariable() {
    const auto bytes = static_cast<int64_t>(1 + Below(600));
    const TensorType type{.dtype = DType::kUInt8, .shape = {bytes}};
    variables_.push_back(graph_.AddNode({
        .name = fmt::format("Variable{}", graph_.num_nodes()),
        .op = std::string(kVariable),
        .outputs = {type},
    }));
    readable_.push_back(graph_.output(variables_.back()));
  }

  void AddUpdate() {
    if (variables_.empty()) return AddVariable();
    const NodeId variable = AnyOf(variables_);
    std::erase(variables_, variable);
    const ValueId bytes = graph_.output(variable);
    std::vector<NodeId> readers;
    for (const Node& node : graph_.nodes()) {
      for (const ValueId input : node.inputs) {
        if (Storage(input) == bytes) readers.push_back(node.id);
      }
    }
    const NodeId update = Add("Update", {bytes, AnyOf(readable_)},
                              {graph_.type(bytes)}, std::move(readers));
    // Later nodes read the updated value.
    std::erase_if(readable_,
                  [&](ValueId value) { return Storage(value) == bytes; });
    readable_.push_back(graph_.output(update));
  }

  // The value whose bytes `value` has.
  ValueId Storage(ValueId value) const {
    const Node* node = &graph_.producer(value);
    while (node->op == "Alias" || node->op == "Update") {
      value = node->inputs[0];
      node = &graph_.producer(value);
    }
    return value;
  }

  void AddOneToOne(std::string_view op) {
    const ValueId input = AnyOf(readable_);
    readable_.push_back(graph_.output(Add(op, {input}, {graph_.type(input)})));
  }

  // Its second input mostly has the type of the first.
  void AddInPlaceBoth() {
    const ValueId a = AnyOf(readable_);
    const TensorType type = graph_.type(a);
    ValueId b = AnyOf(readable_);
    if (graph_.type(b) != type || OneIn(4)) {
      b = graph_.output(Add("F", {b}, {type}));
    }
    const NodeId id = Add("InPlaceBoth", {a, b}, {type, type});
    for (const ValueId output : graph_.node(id).outputs) {
      readable_.push_back(output);
    }
  }

  void AddSwapOut() {
    if (!options_.swaps) return AddPlain();
    const ValueId input = AnyOf(readable_);
    on_host_.push_back(graph_.output(
        Add(kSwapOut, {input}, {graph_.type(input)}, {}, Placement::kHost)));
  }

  void AddSwapIn() {
    if (on_host_.empty()) return AddSwapOut();
    const ValueId input = AnyOf(on_host_);
    readable_.push_back(
        graph_.output(Add(kSwapIn, {input}, {graph_.type(input)}, {AnyNode()},
                          Placement::kHost)));
  }

  void AddPlain() {
    std::vector<ValueId> inputs = {AnyOf(readable_)};
    while (OneIn(2)) inputs.push_back(AnyOf(readable_));
    std::vector<TensorType> outputs = {OneIn(4) ? graph_.type(inputs[0])
                                                : SomeType()};
    if (OneIn(4)) outputs.push_back(OneIn(2) ? outputs[0] : SomeType());
    const bool is_collective = options_.collectives && OneIn(3);
    const NodeId id = Add(is_collective ? kAllReduce : "F", std::move(inputs),
                          std::move(outputs));
    for (const ValueId output : graph_.node(id).outputs) {
      readable_.push_back(output);
    }
  }

  std::vector<ValueId> SomeFetches() {
    std::vector<ValueId> fetches;
    if (OneIn(2)) return fetches;
    fetches.push_back(readable_.back());
    if (OneIn(2)) fetches.push_back(AnyOf(readable_));
    if (!on_host_.empty() && OneIn(3)) fetches.push_back(AnyOf(on_host_));
    return fetches;
  }

  IdMap<NodeId, int64_t> SomeWorkspaces() {
    IdMap<NodeId, int64_t> bytes(graph_.num_nodes(), 0);
    for (const Node& node : graph_.nodes()) {
      if ((node.op == "F" || IsCollective(node.op)) && OneIn(5)) {
        bytes[node.id] = static_cast<int64_t>(1 + Below(1500));
      }
    }
    return bytes;
  }

  IdMap<NodeId, int32_t> SomePreference(const Graph& graph) {
    IdMap<NodeId, int32_t> preference;
    if (!options_.random_order) return preference;
    for (size_t i = 0; i < graph.num_nodes(); ++i) {
      preference.push_back(static_cast<int32_t>(Below(1000)));
    }
    return preference;
  }

  const RandomPlanOptions options_;
  std::mt19937_64 random_;
  Graph graph_{"random"};
  std::vector<ValueId> readable_;  // on the device
  std::vector<ValueId> on_host_;
  std::vector<NodeId> variables_;  // not updated yet
};

}  // namespace

PlanCase RandomPlanCase(const RandomPlanOptions& options) {
  return Generator(options).Make();
}

absl::StatusOr<ExecutionPlan> Compile(const PlanCase& plan_case) {
  return CompilePlan(plan_case.graph, ToyOps(), plan_case.schedule,
                     plan_case.options);
}

}  // namespace spillway::testing
