#include "lms/report.h"

#include <algorithm>

#include "base/counted.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "graph/well_known_ops.h"
#include "lms/v2/report.h"

namespace spillway {
namespace {

std::string WithLevel(int64_t level, std::string_view text) {
  return fmt::format("[LMS][{}] {}", level, text);
}

std::vector<std::string> V1LogLines(const LmsOptions& options,
                                    const LmsReport& report) {
  std::vector<std::string> lines = {
      WithLevel(0, "Editing model for LMS"),
      WithLevel(0, options.v1.n_tensors < 0
                       ? "n_tensors: all tensors"
                       : fmt::format("n_tensors: {}", options.v1.n_tensors)),
      WithLevel(0, fmt::format("lb: {}", options.v1.lb))};
  for (const LogLine& line : report.log) {
    lines.push_back(WithLevel(line.level, line.text));
  }
  for (const std::string& text :
       {std::string("Edited model is valid and logically equivalent to the "
                    "original one"),
        fmt::format("Added {} ops into the model", report.added_ops),
        fmt::format("Editing model for LMS, took: {:.3f} ms",
                    static_cast<double>(report.edit_ns) * 1e-6),
        fmt::format("{} tensors will be swapped out(in) to(from) the host",
                    report.swap_tensors)}) {
    lines.push_back(WithLevel(0, text));
  }
  return lines;
}

std::vector<std::string> SwapLogLines(const LmsOptions& options,
                                      const LmsReport& report) {
  if (options.mode == LmsMode::kV2) return V2LogLines(options, report);
  const bool is_off = options.mode == LmsMode::kOff;
  if (is_off && Recomputes(options)) return {};
  if (is_off || options.v1.n_tensors == 0) {
    return {WithLevel(0, "LMS is disabled and will not modify the model.")};
  }
  return V1LogLines(options, report);
}

}  // namespace

CloneCounts CountClones(const Graph& edited) {
  CloneCounts counts;
  for (const Node& node : edited.nodes()) {
    if (!IsCloneName(node.name)) continue;
    ++counts.nodes;
    for (const ValueId output : node.outputs) {
      counts.bytes += edited.type(output).num_bytes();
    }
  }
  return counts;
}

LmsReport MakeReport(const RecomputePlan& recompute, const SwapPlan& swaps,
                     const Graph& original, const Graph& edited) {
  LmsReport report;
  report.log = swaps.log;
  report.added_ops =
      static_cast<int64_t>(edited.num_nodes() - original.num_nodes());
  report.recompute = recompute;
  report.clones = CountClones(edited);
  report.swap_outs = static_cast<int64_t>(swaps.swaps.size());
  report.swap_tensors = report.swap_outs;
  for (const Swap& swap : swaps.swaps) {
    const int64_t bytes = edited.type(swap.value).num_bytes();
    const auto ways_back = static_cast<int64_t>(swap.swap_ins.size());
    report.swap_ins += ways_back;
    report.out_bytes += bytes;
    report.in_bytes += bytes * ways_back;
  }
  for (const std::vector<DroppedCandidate>& dropped :
       {recompute.dropped, swaps.dropped}) {
    for (const DroppedCandidate& candidate : dropped) {
      report.dropped.push_back(
          {edited.ValueName(candidate.value), candidate.reason});
    }
  }
  if (const auto levels = Levels(edited); levels.ok() && !levels->empty()) {
    report.levels = *std::ranges::max_element(*levels) + 1;
  }
  return report;
}

std::vector<std::string> LogLines(const LmsOptions& options,
                                  const LmsReport& report) {
  std::vector<std::string> lines;
  if (Recomputes(options)) {
    lines.push_back(WithLevel(
        0, fmt::format("{} will be recomputed (policy {})",
                       Counted(report.clones.nodes, "node"),
                       RecomputePolicyName(options.recompute.policy))));
  }
  for (const std::string& line : SwapLogLines(options, report)) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace spillway
