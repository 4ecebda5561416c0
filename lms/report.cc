#include "lms/report.h"

#include <algorithm>

#include "fmt/format.h"
#include "graph/order/schedule.h"
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

}  // namespace

LmsReport MakeReport(const SwapPlan& plan, const Graph& original,
                     const Graph& edited) {
  LmsReport report;
  report.log = plan.log;
  report.added_ops =
      static_cast<int64_t>(edited.num_nodes() - original.num_nodes());
  report.swap_outs = static_cast<int64_t>(plan.swaps.size());
  report.swap_tensors = report.swap_outs;
  for (const Swap& swap : plan.swaps) {
    const int64_t bytes = original.type(swap.value).num_bytes();
    const auto ways_back = static_cast<int64_t>(swap.swap_ins.size());
    report.swap_ins += ways_back;
    report.out_bytes += bytes;
    report.in_bytes += bytes * ways_back;
  }
  for (const DroppedCandidate& dropped : plan.dropped) {
    report.dropped.push_back(
        {original.ValueName(dropped.value), dropped.reason});
  }
  if (const auto levels = Levels(edited); levels.ok() && !levels->empty()) {
    report.levels = *std::ranges::max_element(*levels) + 1;
  }
  return report;
}

std::vector<std::string> LogLines(const LmsOptions& options,
                                  const LmsReport& report) {
  if (options.mode == LmsMode::kV2) return V2LogLines(options, report);
  if (options.mode == LmsMode::kOff || options.v1.n_tensors == 0) {
    return {WithLevel(0, "LMS is disabled and will not modify the model.")};
  }
  return V1LogLines(options, report);
}

}  // namespace spillway
