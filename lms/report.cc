#include "lms/report.h"

#include <algorithm>

#include "fmt/format.h"
#include "graph/schedule.h"

namespace spillway {

LmsReport MakeReport(const SwapPlan& plan, const Graph& original,
                     const Graph& edited) {
  LmsReport report;
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
  if (options.n_tensors == 0 || options.mode == LmsMode::kOff) {
    return {"[LMS][0] LMS is disabled and will not modify the model."};
  }
  const std::string limit = options.n_tensors < 0
                                ? "all tensors"
                                : fmt::format("{}", options.n_tensors);
  constexpr const char* kValid =
      "[LMS][0] Edited model is valid and logically equivalent to the original "
      "one";
  return {
      "[LMS][0] Editing model for LMS",
      fmt::format("[LMS][0] n_tensors: {}", limit),
      fmt::format("[LMS][0] lb: {}", options.lb),
      kValid,
      fmt::format("[LMS][0] Added {} ops into the model", report.added_ops),
      fmt::format("[LMS][0] Editing model for LMS, took: {:.3f} ms",
                  static_cast<double>(report.edit_ns) * 1e-6),
      fmt::format("[LMS][0] {} tensors will be swapped out(in) to(from) the "
                  "host",
                  report.swap_tensors),
  };
}

}  // namespace spillway
