#include "tuner/saved_plan.h"

#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/json_format.h"
#include "lms/apply_swap_plan.h"
#include "lms/options_json.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "spillway.plan";
constexpr int64_t kVersion = 1;

Json Names(const std::vector<NodeId>& nodes, const Graph& graph) {
  Json names = Json::array();
  for (const NodeId id : nodes) names.push_back(graph.node(id).name);
  return names;
}

Json ToJson(const Swap& swap, const Graph& graph) {
  Json swap_ins = Json::array();
  for (const SwapIn& swap_in : swap.swap_ins) {
    swap_ins.push_back({{"readers", Names(swap_in.readers, graph)},
                        {"triggers", Names(swap_in.triggers, graph)},
                        {"aliases", Names(swap_in.aliases, graph)}});
  }
  return {{"tensor", graph.ValueName(swap.value)},
          {"swap_ins", std::move(swap_ins)},
          {"waiters", Names(swap.waiters, graph)}};
}

// {"conv1/Conv2D": "implicit_gemm", ...}
Json AlgorithmsJson(const AlgorithmNames& algorithms, const Graph& graph) {
  Json json = Json::object();
  for (const Node& node : graph.nodes()) {
    const std::string name(AlgorithmOf(algorithms, node.id));
    if (!name.empty()) json[node.name] = name;
  }
  return json;
}

Json ToJson(const std::optional<int64_t>& bytes) {
  return bytes ? Json(*bytes) : Json(nullptr);
}

// Reads the fields of one object; errors name it and the field.
class Reader {
 public:
  Reader(const Json& json, std::string where, const Graph& graph)
      : json_(json), where_(std::move(where)), graph_(graph) {}

  absl::StatusOr<const Json*> Field(const char* name) const {
    const auto field = json_.is_object() ? json_.find(name) : json_.end();
    if (!json_.is_object() || field == json_.end()) {
      return InvalidArgument(
          fmt::format("{}: field \"{}\" is missing", where_, name));
    }
    return &*field;
  }

  absl::StatusOr<std::string> Text(const char* name) const {
    SPILLWAY_ASSIGN_OR_RETURN(const Json* field, Field(name));
    if (!field->is_string()) return Wrong(name, "text");
    return std::string(field->get_ref<const std::string&>());
  }

  absl::StatusOr<int64_t> Count(const char* name) const {
    SPILLWAY_ASSIGN_OR_RETURN(const Json* field, Field(name));
    return ToCount(*field, name);
  }

  absl::StatusOr<std::optional<int64_t>> OptionalCount(const char* name) const {
    SPILLWAY_ASSIGN_OR_RETURN(const Json* field, Field(name));
    if (field->is_null()) return std::optional<int64_t>();
    SPILLWAY_ASSIGN_OR_RETURN(const int64_t count, ToCount(*field, name));
    return std::optional<int64_t>(count);
  }

  absl::StatusOr<const Json*> List(const char* name) const {
    SPILLWAY_ASSIGN_OR_RETURN(const Json* field, Field(name));
    if (!field->is_array()) return Wrong(name, "a list");
    return field;
  }

  // Nodes of the graph, by name.
  absl::StatusOr<std::vector<NodeId>> Nodes(const char* name) const {
    SPILLWAY_ASSIGN_OR_RETURN(const Json* list, List(name));
    std::vector<NodeId> nodes;
    for (const Json& item : *list) {
      if (!item.is_string()) return Wrong(name, "a list of nodes' names");
      const std::optional<NodeId> id =
          graph_.FindNode(item.get_ref<const std::string&>());
      if (!id) return Wrong(name, "a list of nodes of this graph");
      nodes.push_back(*id);
    }
    return nodes;
  }

  // Values of the graph, by name.
  absl::StatusOr<std::vector<ValueId>> Values(const char* name) const {
    SPILLWAY_ASSIGN_OR_RETURN(const Json* list, List(name));
    std::vector<ValueId> values;
    for (const Json& item : *list) {
      if (!item.is_string()) return Wrong(name, "a list of values' names");
      const absl::StatusOr<ValueId> value =
          graph_.FindValue(item.get_ref<const std::string&>());
      if (!value.ok()) return Wrong(name, "a list of values of this graph");
      values.push_back(*value);
    }
    return values;
  }

  // By name of a node of the graph; empty where there are none.
  absl::StatusOr<AlgorithmNames> Algorithms(const char* name) const {
    SPILLWAY_ASSIGN_OR_RETURN(const Json* field, Field(name));
    if (!field->is_object()) return Wrong(name, "an object");
    if (field->empty()) return AlgorithmNames();
    AlgorithmNames algorithms(graph_.num_nodes());
    for (const auto& [node, algorithm] : field->items()) {
      const std::optional<NodeId> id = graph_.FindNode(node);
      if (!id || !algorithm.is_string()) {
        return Wrong(name, "algorithms' names by node of this graph");
      }
      algorithms[*id] = algorithm.get_ref<const std::string&>();
    }
    return algorithms;
  }

  absl::Status Wrong(const char* name, std::string_view expected) const {
    return InvalidArgument(fmt::format("{}: field \"{}\" must be {}", where_,
                                       name, std::string(expected)));
  }

  const std::string& where() const { return where_; }

 private:
  absl::StatusOr<int64_t> ToCount(const Json& json, const char* name) const {
    if (!json.is_number_integer() || json < 0) {
      return Wrong(name, "an integer of at least 0");
    }
    return json.get<int64_t>();
  }

  const Json& json_;
  const std::string where_;
  const Graph& graph_;
};

absl::StatusOr<Swap> ParseSwap(const Json& json, const std::string& where,
                               const Graph& graph) {
  const Reader reader(json, where, graph);
  Swap swap;
  SPILLWAY_ASSIGN_OR_RETURN(const std::string tensor, reader.Text("tensor"));
  absl::StatusOr<ValueId> value = graph.FindValue(tensor);
  if (!value.ok()) return Annotate(value.status(), where);
  swap.value = *value;
  SPILLWAY_ASSIGN_OR_RETURN(swap.waiters, reader.Nodes("waiters"));
  SPILLWAY_ASSIGN_OR_RETURN(const Json* swap_ins, reader.List("swap_ins"));
  for (const Json& item : *swap_ins) {
    const Reader each(item, where + ", swap_ins", graph);
    SwapIn& swap_in = swap.swap_ins.emplace_back();
    SPILLWAY_ASSIGN_OR_RETURN(swap_in.readers, each.Nodes("readers"));
    SPILLWAY_ASSIGN_OR_RETURN(swap_in.triggers, each.Nodes("triggers"));
    SPILLWAY_ASSIGN_OR_RETURN(swap_in.aliases, each.Nodes("aliases"));
    if (swap_in.readers.empty()) {
      return each.Wrong("readers", "a list that is not empty");
    }
  }
  if (swap.swap_ins.empty()) {
    return reader.Wrong("swap_ins", "a list that is not empty");
  }
  return swap;
}

absl::StatusOr<SwapPlan> ParseSwaps(const Reader& reader, const Graph& graph) {
  SwapPlan plan;
  SPILLWAY_ASSIGN_OR_RETURN(const Json* swaps, reader.List("swaps"));
  for (const Json& item : *swaps) {
    SPILLWAY_ASSIGN_OR_RETURN(
        plan.swaps.emplace_back(),
        ParseSwap(item, reader.where() + ": swaps", graph));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Json* orders, reader.List("orders"));
  for (const Json& item : *orders) {
    const Reader each(item, reader.where() + ": orders", graph);
    SPILLWAY_ASSIGN_OR_RETURN(const std::vector<NodeId> before,
                              each.Nodes("before"));
    SPILLWAY_ASSIGN_OR_RETURN(const std::vector<NodeId> after,
                              each.Nodes("after"));
    if (before.size() != 1 || after.size() != 1) {
      return each.Wrong("before", "a list of one node, as \"after\"");
    }
    if (before == after) return each.Wrong("before", "another than \"after\"");
    plan.orders.push_back({.before = before[0], .after = after[0]});
  }
  return plan;
}

// [["conv1/Conv2D", begin_ns, end_ns], ...] of the edited graph, in order.
absl::Status ParseSteps(const Reader& reader, const Graph& edited,
                        StepRecipe& recipe) {
  SPILLWAY_ASSIGN_OR_RETURN(const Json* steps, reader.List("steps"));
  recipe.schedule.step_of.resize(edited.num_nodes(), -1);
  IdMap<NodeId, Interval> expected_ns(edited.num_nodes());
  bool has_times = false;
  for (const Json& item : *steps) {
    const bool is_step = item.is_array() && item.size() == 3 &&
                         item[0].is_string() && item[1].is_number_integer() &&
                         item[2].is_number_integer();
    if (!is_step) {
      return reader.Wrong("steps", "a list of [node, begin_ns, end_ns]");
    }
    const std::optional<NodeId> id =
        edited.FindNode(item[0].get_ref<const std::string&>());
    if (!id) {
      return reader.Wrong("steps", "a list of the edited graph's nodes");
    }
    recipe.schedule.step_of[*id] =
        static_cast<int32_t>(recipe.schedule.order.size());
    recipe.schedule.order.push_back(*id);
    const Interval time = {item[1].get<int64_t>(), item[2].get<int64_t>()};
    constexpr int64_t kMostNs = 1'000'000'000'000'000;  // eleven days
    if (time.begin < 0 || time.end < time.begin || time.end > kMostNs) {
      return reader.Wrong("steps",
                          "a list with 0 <= begin_ns <= end_ns <= 1e15");
    }
    expected_ns[*id] = time;
    has_times |= time.end > 0;
  }
  if (has_times) recipe.placement.expected_ns = std::move(expected_ns);
  return absl::OkStatus();
}

absl::Status CheckHead(const Reader& reader, const Graph& graph) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string format, reader.Text("format"));
  if (format != kFormat) return reader.Wrong("format", "\"spillway.plan\"");
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t version, reader.Count("version"));
  if (version != kVersion) return reader.Wrong("version", "1");
  SPILLWAY_ASSIGN_OR_RETURN(const std::string fingerprint,
                            reader.Text("fingerprint"));
  const std::string expected = GraphFingerprint(graph);
  if (fingerprint == expected) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const std::string name, reader.Text("graph"));
  return InvalidArgument(fmt::format(
      "{}: is the plan of another graph ({}, fingerprint {}) than this one "
      "({}, {}); model, batch_size, image_size, precision, the passes (which "
      "may differ by device) and the optimizer with weight_decay and "
      "loss_scale "
      "must be those that were tuned",
      reader.where(), name, fingerprint, graph.name(), expected));
}

}  // namespace

std::string GraphFingerprint(const Graph& graph) {
  return fmt::format("{:016x}", HashName(FormatGraph(graph)));
}

std::string FormatSavedPlan(const SavedPlan& plan, const Graph& graph) {
  const StepRecipe& recipe = plan.recipe;
  Graph edited = graph;
  ApplySwapPlan(recipe.swaps, edited);
  Json swaps = Json::array();
  for (const Swap& swap : recipe.swaps.swaps) {
    swaps.push_back(ToJson(swap, graph));
  }
  Json orders = Json::array();
  for (const AddedOrder& order : recipe.swaps.orders) {
    orders.push_back({{"before", Names({order.before}, graph)},
                      {"after", Names({order.after}, graph)}});
  }
  Json fetches = Json::array();
  for (const ValueId fetch : plan.fetches) {
    fetches.push_back(graph.ValueName(fetch));
  }
  Json steps = Json::array();
  for (const NodeId id : recipe.schedule.order) {
    const Interval time = recipe.placement.expected_ns.empty()
                              ? Interval()
                              : recipe.placement.expected_ns[id];
    steps.push_back({edited.node(id).name, time.begin, time.end});
  }
  return FormatJson({{"format", kFormat},
                     {"version", kVersion},
                     {"graph", graph.name()},
                     {"fingerprint", GraphFingerprint(graph)},
                     {"name", recipe.name},
                     {"options", UsedOptionsToJson(recipe.options)},
                     {"fetches", std::move(fetches)},
                     {"device_memory", ToJson(plan.device_memory)},
                     {"host_memory", ToJson(plan.host_memory)},
                     {"peak_device_bytes", plan.device_bytes},
                     {"peak_host_bytes", plan.host_bytes},
                     {"step_ns", plan.step_ns},
                     {"placement", recipe.placement.index},
                     {"placed_within", ToJson(recipe.placement.within_bytes)},
                     {"algorithms", AlgorithmsJson(recipe.algorithms, graph)},
                     {"swaps", std::move(swaps)},
                     {"orders", std::move(orders)},
                     {"steps", std::move(steps)}});
}

absl::StatusOr<SavedPlan> ParseSavedPlan(std::string_view text,
                                         std::string_view source,
                                         const Graph& graph,
                                         const OpRegistry& ops) {
  SPILLWAY_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  const Reader reader(json, std::string(source), graph);
  SPILLWAY_RETURN_IF_ERROR(CheckHead(reader, graph));
  SavedPlan plan;
  StepRecipe& recipe = plan.recipe;
  SPILLWAY_ASSIGN_OR_RETURN(recipe.name, reader.Text("name"));
  SPILLWAY_ASSIGN_OR_RETURN(const Json* options, reader.Field("options"));
  absl::StatusOr<LmsOptions> parsed = ParseLmsOptions(*options);
  if (!parsed.ok()) {
    return Annotate(parsed.status(),
                    fmt::format("{}: field \"options\"", reader.where()));
  }
  recipe.options = *std::move(parsed);
  SPILLWAY_ASSIGN_OR_RETURN(plan.fetches, reader.Values("fetches"));
  SPILLWAY_ASSIGN_OR_RETURN(plan.device_memory,
                            reader.OptionalCount("device_memory"));
  SPILLWAY_ASSIGN_OR_RETURN(plan.host_memory,
                            reader.OptionalCount("host_memory"));
  SPILLWAY_ASSIGN_OR_RETURN(plan.device_bytes,
                            reader.Count("peak_device_bytes"));
  SPILLWAY_ASSIGN_OR_RETURN(plan.host_bytes, reader.Count("peak_host_bytes"));
  SPILLWAY_ASSIGN_OR_RETURN(plan.step_ns, reader.Count("step_ns"));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t placement, reader.Count("placement"));
  constexpr int64_t kMostPlacements = 1000;
  if (placement > kMostPlacements) {
    return reader.Wrong("placement", "at most 1000");
  }
  recipe.placement.index = static_cast<size_t>(placement);
  SPILLWAY_ASSIGN_OR_RETURN(recipe.placement.within_bytes,
                            reader.OptionalCount("placed_within"));
  SPILLWAY_ASSIGN_OR_RETURN(recipe.algorithms, reader.Algorithms("algorithms"));
  SPILLWAY_ASSIGN_OR_RETURN(recipe.swaps, ParseSwaps(reader, graph));
  absl::StatusOr<Graph> edited = ApplyRecipe(recipe, ops, graph);
  if (!edited.ok()) {
    return InvalidArgument(fmt::format("{}: field \"swaps\": {}",
                                       std::string(source),
                                       std::string(edited.status().message())));
  }
  SPILLWAY_RETURN_IF_ERROR(ParseSteps(reader, *edited, recipe));
  return plan;
}

absl::StatusOr<SavedPlan> ReadSavedPlan(const std::string& path,
                                        const Graph& graph,
                                        const OpRegistry& ops) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseSavedPlan(text, path, graph, ops);
}

}  // namespace spillway
