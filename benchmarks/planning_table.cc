// Quality of the plans of the zoo's training steps: the bytes that each order
// of the nodes needs, and how close the packed arena comes to them.
//
//   planning_table [--models A,B] [--batch_size N] [--workspaces true]
//                  [--json RESULT.json]
//
// One line for each network, float32 and bfloat16, without LMS and with every
// tensor swapped by v1 and by v2. Plans only; runs nothing.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "executor/kernel_registry.h"
#include "executor/plan/choose_schedule.h"
#include "executor/plan/compile.h"
#include "executor/plan/floor.h"
#include "executor/plan/verify_plan.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/order/schedule.h"
#include "lms/lms.h"
#include "models/zoo.h"
#include "nlohmann/json.hpp"
#include "ops/all_ops.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::vector<std::string> models = {};  // empty: all
  int64_t batch_size = 0;                // 0: the network's default
  bool workspaces = false;               // count the CPU kernels' scratch
  std::string json = {};
};

struct Case {
  std::string model = {};
  DType dtype = DType::kFloat32;
  LmsMode lms = LmsMode::kOff;
};

struct Row {
  Case key = {};
  int64_t batch_size = 0;
  size_t nodes = 0;
  size_t buffers = 0;
  int64_t floor_bytes = 0;           // largest working set of one node
  int64_t creation_bound_bytes = 0;  // live bytes in creation order
  int64_t bound_bytes = 0;           // in the chosen order
  int64_t arena_bytes = 0;
  int64_t host_bytes = 0;
  double plan_ms = 0;  // order, lifetimes, packing, waits, verification

  double excess() const {
    return static_cast<double>(arena_bytes - bound_bytes) /
           static_cast<double>(bound_bytes);
  }
};

LmsOptions OptionsOf(LmsMode mode) {
  if (mode == LmsMode::kV1) return {.mode = mode};
  return {
      .mode = mode,
      .v2 = {.swapout_threshold = 1, .swapin_ahead = 2, .swapin_groupby = 0}};
}

struct TrainingStep {
  Graph graph = {};
  std::vector<ValueId> fetches = {};
  int64_t batch_size = 0;
};

absl::StatusOr<TrainingStep> BuildStep(const Case& key,
                                       const Arguments& arguments) {
  GraphBuilder g(StandardOps(), key.model);
  SPILLWAY_ASSIGN_OR_RETURN(
      const ModelGraph network,
      BuildModel(g, key.model,
                 {.batch_size = arguments.batch_size, .dtype = key.dtype}));
  Minimize(g.Scope("momentum_optimizer"), network.loss, Momentum{});
  TrainingStep step = {.fetches = {network.loss.id()},
                       .batch_size = network.options.batch_size};
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  if (key.lms == LmsMode::kOff) return step;
  SPILLWAY_RETURN_IF_ERROR(ApplyLms(OptionsOf(key.lms), step.graph).status());
  return step;
}

absl::StatusOr<CompileOptions> MakeOptions(const TrainingStep& step,
                                           const IdMap<NodeId, bool>& keep,
                                           bool workspaces) {
  CompileOptions options = {.fetches = step.fetches};
  if (workspaces) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const KernelMap kernels,
        PrepareKernels(step.graph, StandardOps(), StandardKernels(), keep,
                       {.allow_missing = true}));
    options.workspace_bytes = WorkspaceBytes(step.graph, kernels);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Schedule schedule,
                            MakeSchedule(step.graph, StandardOps(), keep));
  AddResidents(step.graph, StandardOps(), schedule, options.constant_prefix,
               options.residents);
  return options;
}

absl::StatusOr<Row> Plan(const Case& key, const Arguments& arguments) {
  SPILLWAY_ASSIGN_OR_RETURN(const TrainingStep step, BuildStep(key, arguments));
  const OpRegistry& ops = StandardOps();
  const IdMap<NodeId, bool> keep = NodesToRun(step.graph, ops, step.fetches);
  SPILLWAY_ASSIGN_OR_RETURN(const CompileOptions options,
                            MakeOptions(step, keep, arguments.workspaces));
  const auto start = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(
      const Schedule schedule,
      ChooseSchedule(step.graph, ops, keep, ScheduleKind::kMemory, options));
  SPILLWAY_ASSIGN_OR_RETURN(const ExecutionPlan plan,
                            CompilePlan(step.graph, ops, schedule, options));
  SPILLWAY_RETURN_IF_ERROR(
      VerifyPlan(plan, step.graph, ops, &options.workspace_bytes));
  const std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - start;
  SPILLWAY_ASSIGN_OR_RETURN(const Schedule creation,
                            MakeSchedule(step.graph, ops, keep));
  return Row{.key = key,
             .batch_size = step.batch_size,
             .nodes = step.graph.num_nodes(),
             .buffers = plan.buffers.size(),
             .floor_bytes = FindFloor(step.graph, ops, schedule, options).bytes,
             .creation_bound_bytes =
                 LeastDeviceBytes(step.graph, ops, creation, options),
             .bound_bytes = plan.device_lower_bound_bytes,
             .arena_bytes = plan.device_bytes,
             .host_bytes = plan.host_bytes,
             .plan_ms = took.count()};
}

std::string Mib(int64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / (1 << 20));
}

std::string_view ModeName(LmsMode mode) {
  if (mode == LmsMode::kOff) return "off";
  return mode == LmsMode::kV1 ? "v1" : "v2";
}

void Print(const Row& row) {
  fmt::print(
      "{:<16} {:<9} {:<3} {:>6} {:>10} {:>10} {:>10} {:>10} {:>8.3f} "
      "{:>9.1f}\n",
      row.key.model, std::string(DTypeName(row.key.dtype)),
      std::string(ModeName(row.key.lms)), row.nodes, Mib(row.floor_bytes),
      Mib(row.creation_bound_bytes), Mib(row.bound_bytes), Mib(row.arena_bytes),
      100 * row.excess(), row.plan_ms);
}

Json ToJson(const Row& row) {
  return {{"model", row.key.model},
          {"dtype", DTypeName(row.key.dtype)},
          {"lms", ModeName(row.key.lms)},
          {"batch_size", row.batch_size},
          {"nodes", row.nodes},
          {"buffers", row.buffers},
          {"floor_bytes", row.floor_bytes},
          {"creation_order_bound_bytes", row.creation_bound_bytes},
          {"bound_bytes", row.bound_bytes},
          {"arena_bytes", row.arena_bytes},
          {"host_bytes", row.host_bytes},
          {"plan_ms", row.plan_ms}};
}

std::vector<Case> Cases(const Arguments& arguments) {
  std::vector<std::string> models = arguments.models;
  if (models.empty()) {
    for (const ModelSpec& model : Zoo()) models.emplace_back(model.name);
  }
  std::vector<Case> cases;
  for (const std::string& model : models) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (const LmsMode lms : {LmsMode::kOff, LmsMode::kV1, LmsMode::kV2}) {
        cases.push_back({.model = model, .dtype = dtype, .lms = lms});
      }
    }
  }
  return cases;
}

absl::Status Run(const Arguments& arguments) {
  fmt::print(
      "MiB: floor, bound in creation order, bound, arena; excess of the "
      "arena in %, ms to plan\n"
      "{:<16} {:<9} {:<3} {:>6} {:>10} {:>10} {:>10} {:>10} {:>8} "
      "{:>9}\n",
      "model", "dtype", "lms", "nodes", "floor", "creation", "bound", "arena",
      "excess", "plan");
  Json rows = Json::array();
  size_t at_bound = 0;
  double largest_excess = 0;
  for (const Case& key : Cases(arguments)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Row row, Plan(key, arguments));
    Print(row);
    rows.push_back(ToJson(row));
    at_bound += row.arena_bytes <= row.bound_bytes ? 1 : 0;
    largest_excess = std::max(largest_excess, row.excess());
  }
  fmt::print("{} of {} arenas at the bound; the largest excess is {:.3f} %\n",
             at_bound, rows.size(), 100 * largest_excess);
  if (arguments.json.empty()) return absl::OkStatus();
  return WriteFileAtomically(arguments.json,
                             FormatJson({{"benchmark", "planning_table"},
                                         {"workspaces", arguments.workspaces},
                                         {"rows", std::move(rows)}}));
}

}  // namespace
}  // namespace spillway

int main(int argc, char** argv) {
  spillway::Arguments arguments;
  CLI::App app("Plans of the zoo's training steps: bound, arena, time");
  app.add_option("--models", arguments.models, "default: all")->delimiter(',');
  app.add_option("--batch_size", arguments.batch_size,
                 "0, the default: each network's own");
  app.add_option("--workspaces", arguments.workspaces,
                 "count the CPU kernels' scratch (default: false)");
  app.add_option("--json", arguments.json, "write the table to this file");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = spillway::Run(arguments);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
