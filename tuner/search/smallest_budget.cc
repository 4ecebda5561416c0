#include "tuner/search/smallest_budget.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/statusor.h"
#include "executor/plan/choose_schedule.h"
#include "executor/plan/floor.h"
#include "tuner/search/tune_algorithms.h"

namespace spillway {
namespace {

constexpr double kPrecision = 1.01;

class BudgetSearch {
 public:
  BudgetSearch(const TunerInputs& inputs, const KnownAlgorithms& known,
               const TunerOptions& options)
      : inputs_(inputs), known_(known), options_(options) {}

  absl::StatusOr<TunedStep> Within(std::optional<int64_t> budget) const {
    return Tune(budget, options_);
  }

  // The smallest budget between `too_small` and `enough`.
  int64_t Bisect(int64_t too_small, int64_t enough) const {
    while (static_cast<double>(enough) >
               kPrecision * static_cast<double>(too_small) &&
           !StopRequested(options_.stop)) {
      const auto middle = static_cast<int64_t>(std::sqrt(
          static_cast<double>(too_small) * static_cast<double>(enough)));
      const std::optional<int64_t> needed = NeededWithin(middle);
      (needed ? enough : too_small) = middle;
      if (needed && NeededWithin(*needed)) enough = *needed;
    }
    return enough;
  }

 private:
  // The bytes of the first plan that fits; nullopt if no plan does.
  std::optional<int64_t> NeededWithin(int64_t budget) const {
    TunerOptions options = options_;
    options.takes_first = true;
    const absl::StatusOr<TunedStep> tuned = Tune(budget, options);
    if (!tuned.ok()) return std::nullopt;
    return tuned->chosen.plan.device_bytes;
  }

  absl::StatusOr<TunedStep> Tune(std::optional<int64_t> budget,
                                 const TunerOptions& options) const {
    TunerInputs inputs = inputs_;
    inputs.compile.device_budget_bytes = budget;
    return TuneAlgorithms(inputs, known_, options);
  }

  const TunerInputs& inputs_;
  const KnownAlgorithms& known_;
  const TunerOptions& options_;
};

MemoryFloor FloorOf(const TunerInputs& inputs) {
  const absl::StatusOr<Schedule> schedule =
      ChooseSchedule(inputs.graph, inputs.ops, inputs.keep,
                     ScheduleKind::kCreation, inputs.compile);
  if (!schedule.ok()) return {};
  return FindFloor(inputs.graph, inputs.ops, *schedule, inputs.compile);
}

}  // namespace

std::optional<MemoryShortage> FindSmallestBudget(const TunerInputs& inputs,
                                                 const KnownAlgorithms& known,
                                                 const TunerOptions& options) {
  const BudgetSearch search(inputs, known, options);
  const absl::StatusOr<TunedStep> unlimited = search.Within(std::nullopt);
  if (!unlimited.ok()) return std::nullopt;
  const MemoryFloor floor = FloorOf(inputs);
  MemoryShortage shortage = {
      .budget_bytes = inputs.compile.device_budget_bytes.value_or(0),
      .floor_bytes = floor.bytes,
      .floor_node =
          floor.node.is_valid() ? inputs.graph.node(floor.node).name : "",
      .is_tuned = options.lms.mode == LmsMode::kAuto,
      .unlimited_step_ns = unlimited->chosen.step.step_ns};
  shortage.needed_bytes = search.Bisect(
      std::max({shortage.budget_bytes, shortage.floor_bytes, int64_t{1}}),
      unlimited->chosen.plan.device_bytes);
  const absl::StatusOr<TunedStep> step = search.Within(shortage.needed_bytes);
  if (!step.ok()) return std::nullopt;
  shortage.step_ns = step->chosen.step.step_ns;
  return shortage;
}

}  // namespace spillway
