#include "tuner/saved_plan.h"

#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/json_object.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/format/json_format.h"
#include "lms/apply_swap_plan.h"
#include "lms/lms.h"
#include "lms/options_json.h"
#include "nlohmann/json.hpp"
#include "tuner/saved_clones.h"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "spillway.plan";
constexpr int64_t kVersion = 2;  // 1 has no clones

Json ToJson(const Swap& swap, const Graph& graph) {
  Json swap_ins = Json::array();
  for (const SwapIn& swap_in : swap.swap_ins) {
    swap_ins.push_back({{"readers", NamesToJson(swap_in.readers, graph)},
                        {"triggers", NamesToJson(swap_in.triggers, graph)},
                        {"aliases", NamesToJson(swap_in.aliases, graph)}});
  }
  return {{"tensor", graph.ValueName(swap.value)},
          {"swap_ins", std::move(swap_ins)},
          {"waiters", NamesToJson(swap.waiters, graph)}};
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

constexpr IntegerRange kCount = {.least = 0};

// Values of the graph, by name.
std::vector<ValueId> ReadValues(JsonObject& object, std::string_view field,
                                const Graph& graph) {
  std::vector<ValueId> values;
  for (const std::string& name : object.Texts(field)) {
    const absl::StatusOr<ValueId> value = graph.FindValue(name);
    if (!value.ok()) {
      object.Fail(field, "must be a list of values of this graph");
      break;
    }
    values.push_back(*value);
  }
  return values;
}

// By the name of a node of the graph; empty if there are no names.
AlgorithmNames ReadAlgorithms(JsonObject names, const Graph& graph) {
  AlgorithmNames algorithms;
  for (const std::string_view node : names.names()) {
    if (algorithms.empty()) algorithms = AlgorithmNames(graph.num_nodes());
    const std::optional<NodeId> id = graph.FindNode(node);
    if (!id) {
      names.Fail(node, "names no node of this graph");
      break;
    }
    algorithms[*id] = names.Text(node);
  }
  return algorithms;
}

SwapIn ReadSwapIn(JsonObject& object, const Graph& graph) {
  SwapIn swap_in;
  swap_in.readers = ReadNodes(object, "readers", graph);
  swap_in.triggers = ReadNodes(object, "triggers", graph);
  swap_in.aliases = ReadNodes(object, "aliases", graph);
  object.RefuseOtherFields();
  if (swap_in.readers.empty()) {
    object.MustBe("readers", "a list that is not empty");
  }
  return swap_in;
}

Swap ReadSwap(JsonObject& object, const Graph& graph) {
  Swap swap;
  const absl::StatusOr<ValueId> value = graph.FindValue(object.Text("tensor"));
  object.Check("tensor", value.status());
  if (value.ok()) swap.value = *value;
  swap.waiters = ReadNodes(object, "waiters", graph);
  for (JsonObject swap_in : object.Objects("swap_ins")) {
    swap.swap_ins.push_back(ReadSwapIn(swap_in, graph));
  }
  if (swap.swap_ins.empty()) {
    object.MustBe("swap_ins", "a list that is not empty");
  }
  object.RefuseOtherFields();
  return swap;
}

SwapPlan ReadSwaps(JsonObject& file, const Graph& graph) {
  SwapPlan plan;
  for (JsonObject swap : file.Objects("swaps")) {
    plan.swaps.push_back(ReadSwap(swap, graph));
  }
  for (JsonObject order : file.Objects("orders")) {
    const std::vector<NodeId> before = ReadNodes(order, "before", graph);
    const std::vector<NodeId> after = ReadNodes(order, "after", graph);
    if (before.size() != 1 || after.size() != 1) {
      order.Fail("before", "must be a list of one node, as \"after\"");
      break;
    }
    if (before == after) order.Fail("before", "must be another than \"after\"");
    order.RefuseOtherFields();
    plan.orders.push_back({.before = before[0], .after = after[0]});
  }
  return plan;
}

// [["conv1/Conv2D", begin_ns, end_ns], ...] of the edited graph, in order.
void ReadSteps(JsonObject& file, const Graph& edited, StepRecipe& recipe) {
  constexpr int64_t kMostNs = 1'000'000'000'000'000;  // eleven days
  recipe.schedule.step_of.resize(edited.num_nodes(), -1);
  IdMap<NodeId, Interval> expected_ns(edited.num_nodes());
  bool has_times = false;
  for (const Json& item : file.List("steps")) {
    const bool is_step =
        item.is_array() && item.size() == 3 && item[0].is_string();
    const std::optional<int64_t> begin =
        is_step ? ToInteger(item[1], {.least = 0, .most = kMostNs})
                : std::nullopt;
    const std::optional<int64_t> end =
        begin ? ToInteger(item[2], {.least = *begin, .most = kMostNs})
              : std::nullopt;
    if (!end) {
      return file.Fail("steps",
                       "must be a list of [node, begin_ns, end_ns] with "
                       "0 <= begin_ns <= end_ns <= 1e15");
    }
    const std::optional<NodeId> id =
        edited.FindNode(item[0].get_ref<const std::string&>());
    if (!id) {
      return file.Fail("steps", "must be a list of the edited graph's nodes");
    }
    recipe.schedule.step_of[*id] =
        static_cast<int32_t>(recipe.schedule.order.size());
    recipe.schedule.order.push_back(*id);
    expected_ns[*id] = {*begin, *end};
    has_times |= *end > 0;
  }
  if (has_times) recipe.placement.expected_ns = std::move(expected_ns);
}

PlannedBuckets ReadBuckets(JsonObject object) {
  const PlannedBuckets buckets = {
      .bytes = object.Integer("bytes", kCount),
      .first_bytes = object.Integer("first_bytes", kCount),
      .elements = object.Integer("elements", kCount)};
  object.RefuseOtherFields();
  return buckets;
}

absl::Status CheckHead(JsonObject& file, std::string_view source,
                       const Graph& graph, SavedPlan& plan) {
  if (file.Text("format") != kFormat) {
    file.MustBe("format", "\"spillway.plan\"");
  }
  const int64_t version = file.Integer("version");
  if (version < 1 || version > kVersion) file.MustBe("version", "1 or 2");
  plan.fingerprint = file.Text("fingerprint");
  const std::string& name = file.Text("graph");
  SPILLWAY_RETURN_IF_ERROR(file.status());
  const std::string expected = GraphFingerprint(graph);
  if (plan.fingerprint == expected) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "{}: is the plan of another graph ({}, fingerprint {}) than this one "
      "({}, {}); model, batch_size, image_size, precision, the passes (which "
      "may differ by device), the optimizer with weight_decay and loss_scale, "
      "whether several ranks exchange gradients, and in which buckets, "
      "and nodes on the host (place, with its device_memory) must be those "
      "that were tuned",
      source, name, plan.fingerprint, graph.name(), expected));
}

// Reads everything but the head, the clones and the steps. `graph`: with the
// clones.
void ReadPlan(JsonObject& file, const Graph& graph, SavedPlan& plan) {
  constexpr int64_t kMostPlacements = 1000;
  StepRecipe& recipe = plan.recipe;
  recipe.name = file.Text("name");
  absl::StatusOr<LmsOptions> options = ParseLmsOptions(file.Field("options"));
  file.Check("options", options.status());
  if (options.ok()) recipe.options = *std::move(options);
  plan.fetches = ReadValues(file, "fetches", graph);
  plan.device_memory = file.IntegerOrNull("device_memory", kCount);
  plan.host_memory = file.IntegerOrNull("host_memory", kCount);
  plan.device_bytes = file.Integer("peak_device_bytes", kCount);
  plan.host_bytes = file.Integer("peak_host_bytes", kCount);
  plan.step_ns = file.Integer("step_ns", kCount);
  if (file.Has("buckets")) plan.buckets = ReadBuckets(file.Object("buckets"));
  if (file.Has("workspaces")) plan.workspaces = file.Text("workspaces");
  recipe.placement.index = static_cast<size_t>(
      file.Integer("placement", {.least = 0, .most = kMostPlacements}));
  recipe.placement.within_bytes = file.IntegerOrNull("placed_within", kCount);
  recipe.algorithms = ReadAlgorithms(file.Object("algorithms"), graph);
  recipe.swaps = ReadSwaps(file, graph);
}

}  // namespace

std::string WorkspaceDigest(const ExecutionPlan& plan) {
  std::string text;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind != BufferKind::kWorkspace) continue;
    text += fmt::format("{} {}\n", buffer.name, buffer.bytes);
  }
  return fmt::format("{:016x}", HashName(text));
}

std::string GraphFingerprint(const Graph& graph) {
  return fmt::format("{:016x}", HashName(FormatGraph(graph)));
}

absl::Status CheckIsPlanOf(const SavedPlan& plan, const Graph& graph) {
  const std::string fingerprint = GraphFingerprint(graph);
  if (plan.fingerprint == fingerprint) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "the plan is of another graph (fingerprint \"{}\") than {} ({})",
      plan.fingerprint, graph.name(), fingerprint));
}

absl::StatusOr<std::string> FormatSavedPlan(const SavedPlan& plan,
                                            const Graph& graph,
                                            const OpRegistry& ops) {
  SPILLWAY_RETURN_IF_ERROR(CheckIsPlanOf(plan, graph));
  const StepRecipe& recipe = plan.recipe;
  SPILLWAY_ASSIGN_OR_RETURN(const Graph recomputed,
                            WithClones(recipe.recompute, ops, graph));
  SPILLWAY_RETURN_IF_ERROR(CheckIds(recipe.swaps, recomputed));
  Graph edited = recomputed;
  ApplySwapPlan(recipe.swaps, edited);
  SPILLWAY_RETURN_IF_ERROR(CheckFits(recipe, edited));
  Json swaps = Json::array();
  for (const Swap& swap : recipe.swaps.swaps) {
    swaps.push_back(ToJson(swap, recomputed));
  }
  Json orders = Json::array();
  for (const AddedOrder& order : recipe.swaps.orders) {
    orders.push_back({{"before", NamesToJson({order.before}, recomputed)},
                      {"after", NamesToJson({order.after}, recomputed)}});
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
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"graph", graph.name()},
               {"fingerprint", plan.fingerprint},
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
               {"algorithms", AlgorithmsJson(recipe.algorithms, recomputed)},
               {"recomputes", ClonesToJson(recipe.recompute, graph)},
               {"recompute_orders", CloneOrdersToJson(recipe.recompute, graph)},
               {"swaps", std::move(swaps)},
               {"orders", std::move(orders)},
               {"steps", std::move(steps)}};
  if (plan.buckets) {
    json["buckets"] = {{"bytes", plan.buckets->bytes},
                       {"first_bytes", plan.buckets->first_bytes},
                       {"elements", plan.buckets->elements}};
  }
  if (!plan.workspaces.empty()) json["workspaces"] = plan.workspaces;
  return FormatJson(json);
}

absl::StatusOr<SavedPlan> ParseSavedPlan(std::string_view text,
                                         std::string_view source,
                                         const Graph& graph,
                                         const OpRegistry& ops) {
  SPILLWAY_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  JsonObject file(json, source);
  SavedPlan plan;
  SPILLWAY_RETURN_IF_ERROR(CheckHead(file, source, graph, plan));
  if (file.Integer("version") > 1) {
    plan.recipe.recompute = ReadClones(file, graph);
  }
  SPILLWAY_RETURN_IF_ERROR(file.status());
  const absl::StatusOr<Graph> recomputed =
      WithClones(plan.recipe.recompute, ops, graph);
  file.Check("recomputes", recomputed.status());
  SPILLWAY_RETURN_IF_ERROR(file.status());
  ReadPlan(file, *recomputed, plan);
  file.List("steps");
  file.RefuseOtherFields();
  SPILLWAY_RETURN_IF_ERROR(file.status());
  const absl::StatusOr<Graph> edited =
      WithSwaps(plan.recipe.options, plan.recipe.swaps, ops, *recomputed);
  file.Check("swaps", edited.status());
  SPILLWAY_RETURN_IF_ERROR(file.status());
  ReadSteps(file, *edited, plan.recipe);
  SPILLWAY_RETURN_IF_ERROR(file.status());
  return plan;
}

absl::StatusOr<std::optional<PlannedBuckets>> LoadPlanBuckets(
    const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  SPILLWAY_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  JsonObject file(json, path);
  std::optional<PlannedBuckets> buckets;
  if (file.Has("buckets")) buckets = ReadBuckets(file.Object("buckets"));
  SPILLWAY_RETURN_IF_ERROR(file.status());
  return buckets;
}

absl::StatusOr<SavedPlan> LoadPlan(const std::string& path, const Graph& graph,
                                   const OpRegistry& ops) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseSavedPlan(text, path, graph, ops);
}

}  // namespace spillway
