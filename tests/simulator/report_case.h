// A report with all parts, for a graph whose names try to break the page.
#ifndef SPILLWAY_TESTS_SIMULATOR_REPORT_CASE_H_
#define SPILLWAY_TESTS_SIMULATOR_REPORT_CASE_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "simulator/report/html_report.h"
#include "tests/executor/plan/plan_cases.h"

namespace spillway::testing {

// The names that f1, f2, ... of a chain have here.
inline const std::vector<std::string> kHostileNames = {
    "</script><b>bold",
    "<!--<script>",
    "\"quoted\" & 'single'",
    "{{script}}",
    "back\\slash",
    "caf\xc3\xa9 \xe2\x80\xa8 line",
    "=1+1",
    "]]>",
    "sgd_optimizer/gradients/stage1/block3/conv3/FusedBatchNorm/"
    "FusedBatchNormGrad"};

// ChainGraph with other names.
inline Graph RenamedChain(int64_t bytes) {
  const Graph chain =
      ChainGraph(static_cast<int>(kHostileNames.size()), bytes, true);
  Graph graph("chain");
  for (const Node& node : chain.nodes()) {
    NodeSpec spec = {.name = node.name,
                     .op = node.op,
                     .inputs = node.inputs,
                     .control_inputs = node.control_inputs,
                     .placement = node.placement};
    if (node.name[0] == 'f') {
      spec.name = kHostileNames[std::stoul(node.name.substr(1)) - 1];
    }
    for (const ValueId output : node.outputs) {
      spec.outputs.push_back(chain.type(output));
    }
    graph.AddNode(spec);
  }
  return graph;
}

// Must live as long as its report is used.
struct ReportCase {
  Graph graph = RenamedChain(1000);
  ExecutionPlan plan = {};
  SimulatedStep predicted = {};
  SimulatedStep slower = {};  // used as the measured step
  HtmlReport report = {};
};

inline SimulatedStep PlayChain(const ReportCase& report_case, int64_t ns) {
  const LinkDirection link = {.latency_ns = 50,
                              .bytes_per_second = 1e9,
                              .shared_bytes_per_second = 5e8};
  return SimulateStep(report_case.plan, report_case.graph,
                      IdMap<NodeId, int64_t>(report_case.graph.num_nodes(), ns),
                      {.to_host = link, .to_device = link, .issue_ns = 3});
}

// Twelve budgets, from twice the plan's bytes down to two fifths of them.
inline std::vector<FrontierDot> MadeFrontier(const ReportCase& made) {
  std::vector<FrontierDot> frontier;
  for (int64_t k = 0; k < 12; ++k) {
    const int64_t budget = 2 * made.plan.device_bytes * 16 / (16 + 6 * k);
    frontier.push_back({.budget_bytes = budget,
                        .step_ns = 1700 + 9 * k * k,
                        .bound_ns = 1600 + 7 * k * k,
                        .device_bytes = budget - 10,
                        .name = k == 0 ? "no swaps" : "<b>fates</b>"});
  }
  return frontier;
}

// f4 has a clone by the name of f6.
inline void PretendAClone(ReportCase& made) {
  const Graph& graph = made.graph;
  const auto output = [&](const std::string& name) {
    return graph.output(graph.FindNode(name).value());
  };
  made.report.original_of =
      IdMap<ValueId, ValueId>(graph.num_values(), ValueId());
  made.report.original_of[output(kHostileNames[5])] = output(kHostileNames[3]);
}

inline void MakeReportCase(ReportCase& made) {
  absl::StatusOr<ExecutionPlan> plan = Compile(made.graph);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  made.plan = *std::move(plan);
  made.predicted = PlayChain(made, 100);
  made.slower = PlayChain(made, 130);
  made.report = {.title = "<i>chain</i> & co",
                 .facts = {{"LMS", "<b>v1</b>"}},
                 .batch_size = 32,
                 .graph = &made.graph,
                 .plan = &made.plan,
                 .predicted = &made.predicted,
                 .device_budget = made.plan.device_bytes + 500,
                 .host_budget = 100000,
                 .bound = {{.step_ns = 1600, .reason = "compute alone"}},
                 .measured = {{.timeline = &made.slower.timeline,
                               .step_ns = made.slower.step_ns,
                               .device_bytes = made.plan.device_bytes,
                               .host_bytes = made.plan.host_bytes}},
                 .tried = {{.label = "off", .note = "too <large>"},
                           {.label = "v1",
                            .fits = true,
                            .device_bytes = made.plan.device_bytes,
                            .host_bytes = made.plan.host_bytes,
                            .step_ns = made.predicted.step_ns}},
                 .chosen = 1,
                 .frontier = MadeFrontier(made),
                 .policies = {{.name = "vdnn_conv",
                               .device_bytes = made.plan.device_bytes + 300,
                               .step_ns = 2500},
                              {.name = "lru",
                               .device_bytes = made.plan.device_bytes + 400,
                               .step_ns = 90000}},
                 .changes = {{.tensor = kHostileNames[0] + ":0",
                              .if_kept_ns = 250,
                              .if_swapped_ns = 0},
                             {.tensor = kHostileNames[1] + ":0",
                              .if_kept_ns = 40,
                              .if_swapped_ns = 0,
                              .if_recomputed_ns = -30}}};
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SIMULATOR_REPORT_CASE_H_
