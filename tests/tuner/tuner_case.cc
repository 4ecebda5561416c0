#include "tests/tuner/tuner_case.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "simulator/cost_model.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/random_graph.h"
#include "tests/support/toy_ops.h"
#include "training/optimizer.h"

namespace spillway::testing {
namespace {

DeviceProfile SomeProfile(std::mt19937_64& random) {
  constexpr std::array<double, 5> kRates = {0.2, 0.5, 1, 2, 4};
  const auto direction = [&] {
    LinkDirection link;
    link.bytes_per_second = 1e9 * kRates[random() % kRates.size()];
    link.shared_bytes_per_second =
        link.bytes_per_second * (random() % 2 == 0 ? 1 : 0.7);
    link.latency_ns = random() % 3 == 0 ? 40 : 0;
    return link;
  };
  DeviceProfile profile;
  profile.to_host = direction();
  profile.to_device = direction();
  profile.issue_ns = random() % 3 == 0 ? 30 : 0;
  return profile;
}

IdMap<NodeId, int64_t> SomeTimes(size_t nodes, int64_t most_ns,
                                 std::mt19937_64& random) {
  IdMap<NodeId, int64_t> times;
  for (size_t i = 0; i < nodes; ++i) times.push_back(Below(random, most_ns));
  return times;
}

class SmallGraph {
 public:
  explicit SmallGraph(std::mt19937_64& random) : random_(random) {}

  Graph Make(int nodes) {
    Add(OneIn(2) ? kPlaceholder : "F", {});
    for (int i = 1; i < nodes; ++i) {
      if (OneIn(12)) {
        Add(kPlaceholder, {});
        continue;
      }
      std::vector<ValueId> inputs = {values_.back()};
      if (!OneIn(4)) inputs.push_back(Earlier());
      if (OneIn(6)) inputs.push_back(Earlier());
      const int64_t kind = Below(random_, 8);
      if (kind < 2) inputs.resize(1);  // with one input
      if (kind < 2 && OneIn(2)) inputs[0] = Earlier();
      Add(kind == 0 ? "Alias" : kind == 1 ? "InPlace" : "F", inputs);
    }
    return std::move(graph_);
  }

 private:
  bool OneIn(int64_t n) { return Below(random_, n) == 0; }

  ValueId Earlier() {
    const auto all = static_cast<int64_t>(values_.size());
    const int64_t some = OneIn(2) ? all : std::min<int64_t>(all, 3);
    return values_[static_cast<size_t>(Below(random_, some))];
  }

  TensorType SomeType() {
    const int64_t bytes =
        OneIn(2) ? 256 * (1 + Below(random_, 8)) : 1 + Below(random_, 2000);
    return {.dtype = DType::kUInt8, .shape = {bytes}};
  }

  void Add(std::string_view op, std::vector<ValueId> inputs) {
    const bool is_one_to_one = op == "Alias" || op == "InPlace";
    std::vector<TensorType> outputs = {is_one_to_one ? graph_.type(inputs[0])
                                                     : SomeType()};
    if (op == "F" && OneIn(8)) outputs.push_back(SomeType());
    const NodeId id =
        graph_.AddNode({.name = fmt::format("{}{}", op, graph_.num_nodes()),
                        .op = std::string(op),
                        .inputs = std::move(inputs),
                        .outputs = std::move(outputs)});
    for (const ValueId output : graph_.node(id).outputs) {
      values_.push_back(output);
    }
  }

  std::mt19937_64& random_;
  Graph graph_{"small"};
  std::vector<ValueId> values_;
};

}  // namespace

DeviceProfile LinkOf(double bytes_per_ns, int64_t latency_ns,
                     int64_t issue_ns) {
  const LinkDirection link = {.latency_ns = latency_ns,
                              .bytes_per_second = 1e9 * bytes_per_ns,
                              .shared_bytes_per_second = 1e9 * bytes_per_ns};
  return {.to_host = link, .to_device = link, .issue_ns = issue_ns};
}

TunerCase CaseOf(Graph graph, OpRegistry ops, int64_t kernel_ns,
                 const DeviceProfile& profile) {
  TunerCase made;
  made.graph = std::move(graph);
  made.ops = std::move(ops);
  made.keep = IdMap<NodeId, bool>(made.graph.num_nodes(), true);
  const absl::StatusOr<Schedule> schedule =
      MakeSchedule(made.graph, made.ops, made.keep);
  SPILLWAY_CHECK(schedule.ok());
  made.schedule = *schedule;
  AddResidents(made.graph, made.ops, made.schedule, "", made.options.residents);
  made.kernel_ns = IdMap<NodeId, int64_t>(made.graph.num_nodes(), kernel_ns);
  made.profile = profile;
  return made;
}

TunerCase SmallRandomCase(uint64_t seed, int nodes) {
  std::mt19937_64 random(seed);
  Graph graph = SmallGraph(random).Make(nodes);
  TunerCase made = CaseOf(std::move(graph), ToyOps(), 0, SomeProfile(random));
  made.kernel_ns = SomeTimes(made.graph.num_nodes(), 2000, random);
  if (random() % 4 == 0) {
    made.options.fetches = {
        made.graph.output(NodeId(random() % made.graph.num_nodes()))};
  }
  return made;
}

TunerCase RandomCase(uint64_t seed, int nodes) {
  PlanCase plan_case =
      RandomPlanCase({.seed = seed, .nodes = nodes, .swaps = false});
  std::mt19937_64 random(seed + 1);
  TunerCase made;
  made.kernel_ns = SomeTimes(plan_case.graph.num_nodes(), 2000, random);
  made.graph = std::move(plan_case.graph);
  made.ops = ToyOps();
  made.keep = std::move(plan_case.keep);
  made.schedule = std::move(plan_case.schedule);
  made.options = std::move(plan_case.options);
  made.profile = SomeProfile(random);
  return made;
}

TunerCase TrainingCase(uint64_t seed, int forward_nodes) {
  std::mt19937_64 random(seed);
  TunerCase made = CaseOf(
      RandomTrainingGraph({.seed = seed,
                           .forward_nodes = forward_nodes,
                           .alias_probability = seed % 2 == 0 ? 0.0 : 0.2}),
      StandardOps(), 0, SomeProfile(random));
  made.kernel_ns = SomeTimes(made.graph.num_nodes(), 40'000, random);
  return made;
}

TunerCase ZooCase(std::string_view model, int64_t image_size,
                  int64_t batch_size, double link_gbps) {
  GraphBuilder g(StandardOps());
  const absl::StatusOr<ModelGraph> network = BuildModel(
      g, model,
      {.batch_size = batch_size, .image_size = image_size, .num_classes = 10});
  SPILLWAY_CHECK(network.ok());
  Minimize(g.Scope("optimizer"), network->loss, Momentum{});
  absl::StatusOr<Graph> graph = std::move(g).Build();
  SPILLWAY_CHECK(graph.ok());
  DeviceProfile profile = LinkOf(link_gbps, 10'000, 3'000);
  profile.memory_bytes_per_second = 732e9;
  profile.memory_efficiency = 0.75;
  profile.flops_per_second = {{DType::kFloat32, 9.3e12}};
  profile.compute_efficiency = 0.55;
  profile.kernel_ns = 4'000;
  TunerCase made = CaseOf(*std::move(graph), StandardOps(), 0, profile);
  made.kernel_ns = EstimateKernelTimes(made.graph, made.ops, profile);
  made.options.fetches = {network->loss.id()};
  return made;
}

TunerInputs InputsOf(const TunerCase& tuner_case,
                     std::optional<int64_t> budget_bytes) {
  TunerInputs inputs = {.graph = tuner_case.graph,
                        .ops = tuner_case.ops,
                        .keep = tuner_case.keep,
                        .compile = tuner_case.options,
                        .kernel_ns = tuner_case.kernel_ns,
                        .profile = tuner_case.profile};
  inputs.compile.device_budget_bytes = budget_bytes;
  return inputs;
}

StepModel ModelOf(const TunerCase& tuner_case) {
  return MakeStepModel(tuner_case.graph, tuner_case.ops, tuner_case.schedule,
                       tuner_case.options, tuner_case.kernel_ns,
                       tuner_case.profile);
}

int64_t NaiveLeastBytes(const StepModel& model) {
  int64_t least = 0;
  for (size_t k = 0; k < model.steps.size(); ++k) {
    int64_t bytes = model.steps[k].live_bytes - model.steps[k].in_place_bytes;
    for (const Gap& gap : model.gaps) {
      if (gap.is_movable && Spans(gap, static_cast<int32_t>(k))) {
        bytes -= gap.aligned_bytes;
      }
    }
    least = std::max(least, bytes);
  }
  return least;
}

int64_t BudgetBetween(int64_t least, int64_t most, int i, int n) {
  return least + (most - least) * i / std::max(1, n - 1);
}

}  // namespace spillway::testing
