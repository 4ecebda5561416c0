#include "tuner/tuner.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/choose_schedule.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "lms/v2_levels.h"
#include "tuner/edit_for_swaps.h"
#include "tuner/step_model.h"
#include "tuner/swap_player.h"
#include "tuner/swap_search.h"
#include "tuner/tflms_sets.h"

namespace spillway {
namespace {

// Parts of the budget that the search leaves free for holes between buffers.
constexpr std::array<double, 9> kSlacks = {0,    0.003, 0.006, 0.01, 0.02,
                                           0.03, 0.05,  0.08,  0.12};

// A plan this near the bound is not worth searching on.
constexpr double kNearBound = 1.001;

// Times that buffers are placed by the times of the placement before.
constexpr int kRounds = 3;
// And for the best of all, once more.
constexpr int kLastRounds = 6;

// Tensors below this part of the unconstrained peak never move.
constexpr int64_t kSmallPart = 16384;

class Tuner {
 public:
  Tuner(const TunerInputs& inputs, const TunerOptions& options)
      : inputs_(inputs), options_(options) {}

  absl::StatusOr<TunedStep> Run() {
    RETURN_IF_ERROR(FindSchedules());
    if (MayStayOff()) TryWithoutSwaps();
    if (best_) return Finish("LMS is not necessary");
    result_.is_necessary = true;
    if (options_.lms.mode == LmsMode::kOff) return Failure();
    if (options_.lms.mode == LmsMode::kAuto) RETURN_IF_ERROR(TryPerTensor());
    RETURN_IF_ERROR(TrySets());
    if (best_) return Finish("the least predicted time of what was tried");
    return Failure();
  }

 private:
  // Whoever asks for a certain set means it, needed or not.
  bool MayStayOff() const {
    const LmsOptions& lms = options_.lms;
    switch (lms.mode) {
      case LmsMode::kOff:
      case LmsMode::kAuto:
        return true;
      case LmsMode::kV1:
        return false;
      case LmsMode::kV2:
        return lms.swapout_threshold == -1 && lms.swapin_ahead == -1 &&
               lms.swapin_groupby == -1;
    }
    return true;
  }

  // Creation order, and that which saves memory if it is another.
  absl::Status FindSchedules() {
    for (const ScheduleKind kind :
         {ScheduleKind::kCreation, ScheduleKind::kMemory}) {
      ASSIGN_OR_RETURN(Schedule schedule,
                       ChooseSchedule(inputs_.graph, inputs_.ops, inputs_.keep,
                                      kind, inputs_.compile));
      if (schedules_.empty() || schedules_[0].order != schedule.order) {
        schedules_.push_back(std::move(schedule));
      }
    }
    return absl::OkStatus();
  }

  void TryWithoutSwaps() {
    for (size_t i = 0; i < schedules_.size() && !best_; ++i) {
      const StepRecipe recipe = {.name = i == 0 ? "off" : "off, memory order",
                                 .schedule = schedules_[i]};
      Add(recipe, Evaluate(inputs_, recipe));
    }
  }

  // The order with the lower bound first; another only if it could be better.
  absl::Status TryPerTensor() {
    if (!inputs_.compile.device_budget_bytes) return absl::OkStatus();
    const int64_t budget = *inputs_.compile.device_budget_bytes;
    struct Order {
      const Schedule* schedule = nullptr;
      StepModel model = {};
      StepTimeBound bound = {};
    };
    std::vector<Order> orders;
    for (const Schedule& schedule : schedules_) {
      StepModel model = ModelOf(schedule);
      const StepTimeBound bound = LowerBound(model, inputs_.profile, budget);
      orders.push_back(
          {.schedule = &schedule, .model = std::move(model), .bound = bound});
    }
    std::ranges::stable_sort(
        orders, {}, [](const Order& order) { return order.bound.step_ns; });
    for (const Order& order : orders) {
      if (IsNear(order.bound)) continue;
      RETURN_IF_ERROR(
          SearchTensors(*order.schedule, order.model, order.bound, budget));
    }
    PlaceBestAnew();
    return absl::OkStatus();
  }

  void PlaceBestAnew() {
    if (!best_ || ShallStop() || IsNear(BoundOf(inputs_, best_->recipe))) {
      return;
    }
    StepRecipe recipe = best_->recipe;
    recipe.name += ", placed anew";
    Add(recipe, EvaluateByTime(inputs_, recipe, kLastRounds));
  }

  StepModel ModelOf(const Schedule& schedule) const {
    return MakeStepModel(inputs_.graph, inputs_.ops, schedule, inputs_.compile,
                         inputs_.kernel_ns, inputs_.profile);
  }

  struct Candidate {
    double slack = 0;
    FoundSwaps found = {};
  };

  absl::Status SearchTensors(const Schedule& schedule, const StepModel& model,
                             const StepTimeBound& bound, int64_t budget) {
    const SwapSearchOptions search = {
        .size_threshold_bytes = std::max(options_.lms.size_threshold_bytes,
                                         model.peak_bytes / kSmallPart)};
    std::vector<Candidate> candidates;
    for (const double slack : kSlacks) {
      if (ShallStop()) break;
      const auto kept =
          static_cast<int64_t>(static_cast<double>(budget) * (1 - slack));
      const SwapPlayer player(model, kept);
      FoundSwaps found = SearchSwaps(player, search);
      if (!found.played.fits) break;  // nor with less
      candidates.push_back({.slack = slack, .found = std::move(found)});
    }
    std::ranges::stable_sort(candidates, {}, [](const Candidate& candidate) {
      return candidate.found.played.step_ns;
    });
    candidates.resize(std::min(candidates.size(), MostTries()));
    for (const Candidate& candidate : candidates) {
      if (ShallStop() || IsNear(bound)) break;
      if (best_ && candidate.found.played.step_ns >= best_->step.step_ns) break;
      SwapEdit edit =
          EditForSwaps(inputs_.graph, schedule, model, candidate.found);
      const StepRecipe recipe = {
          .name = fmt::format("per tensor, {:.1f} % of the budget kept free",
                              100 * candidate.slack),
          .swaps = std::move(edit.swaps),
          .schedule = std::move(edit.schedule),
          .expected_ns = std::move(edit.expected_ns)};
      Add(recipe, EvaluateByTime(inputs_, recipe, kRounds));
    }
    return absl::OkStatus();
  }

  absl::Status TrySets() {
    if (best_ && IsNear(BoundOf(inputs_, best_->recipe))) {
      return absl::OkStatus();
    }
    const int64_t num_levels = FindV2Levels(inputs_.graph).num_levels();
    if (options_.lms.mode == LmsMode::kV2) {
      ForEachV2Set(options_.lms, num_levels,
                   [&](const LmsOptions& options) { return TrySet(options); });
      return absl::OkStatus();
    }
    if (options_.lms.mode == LmsMode::kV1) {
      TrySet(options_.lms);
      return absl::OkStatus();
    }
    for (const LmsOptions& options :
         UsualSets(options_.lms, num_levels, MostTries())) {
      TrySet(options);
    }
    return absl::OkStatus();
  }

  // Its time if it fits.
  std::optional<int64_t> TrySet(const LmsOptions& options) {
    if (ShallStop()) return std::nullopt;
    absl::StatusOr<StepRecipe> recipe = RecipeOf(inputs_, options);
    if (!recipe.ok()) {
      Add({.name = DescribeOptions(options), .options = options},
          recipe.status());
      return std::nullopt;
    }
    Add(*recipe, EvaluateByTime(inputs_, *recipe, 1));
    const TriedSet& tried = result_.tried.back();
    return tried.fits ? std::optional(tried.step_ns) : std::nullopt;
  }

  // Of each kind, so that large graphs do not take too long.
  size_t MostTries() const {
    constexpr size_t kNodes = 20'000;
    return std::clamp<size_t>(kNodes / (inputs_.graph.num_nodes() + 1), 3, 20);
  }

  bool ShallStop() const { return options_.stop && options_.stop(); }

  bool IsNear(const StepTimeBound& bound) const {
    return best_ && static_cast<double>(best_->step.step_ns) <=
                        kNearBound * static_cast<double>(bound.step_ns);
  }

  void Add(const StepRecipe& recipe,
           absl::StatusOr<EvaluatedRecipe> evaluated) {
    TriedSet& tried = result_.tried.emplace_back();
    tried.name = recipe.name;
    tried.options = recipe.options;
    tried.fits = evaluated.ok();
    if (!evaluated.ok()) {
      tried.reason = std::string(evaluated.status().message());
      if (failure_.ok() || absl::IsResourceExhausted(evaluated.status())) {
        failure_ = evaluated.status();
      }
      return;
    }
    tried.device_bytes = evaluated->plan.device_bytes;
    tried.host_bytes = evaluated->plan.host_bytes;
    tried.step_ns = evaluated->step.step_ns;
    if (best_ && best_->step.step_ns <= tried.step_ns) return;
    best_ = *std::move(evaluated);
  }

  // What the last candidate lacked that did not fit.
  absl::Status Failure() const {
    if (!absl::IsResourceExhausted(failure_)) return failure_;
    return ResourceExhausted(
        fmt::format("nothing that was tried fits ({} candidates); {}",
                    result_.tried.size(), std::string(failure_.message())));
  }

  absl::StatusOr<TunedStep> Finish(std::string_view why) {
    result_.bound = BoundOf(inputs_, best_->recipe);
    const int64_t peak = best_->plan.device_bytes;
    result_.reason =
        inputs_.compile.device_budget_bytes
            ? fmt::format("{}: peak {} of {}", std::string(why),
                          FormatBytes(peak),
                          FormatBytes(*inputs_.compile.device_budget_bytes))
            : fmt::format("{}: peak {}, no budget", std::string(why),
                          FormatBytes(peak));
    result_.chosen = *std::move(best_);
    return std::move(result_);
  }

  const TunerInputs& inputs_;
  const TunerOptions& options_;
  // Creation order, and that which saves memory if it is another.
  std::vector<Schedule> schedules_;
  std::optional<EvaluatedRecipe> best_;
  absl::Status failure_;  // of the last candidate that did not fit, if any
  TunedStep result_;
};

}  // namespace

absl::StatusOr<TunedStep> Tune(const TunerInputs& inputs,
                               const TunerOptions& options) {
  return Tuner(inputs, options).Run();
}

StepTimeBound BoundOf(const TunerInputs& inputs, const StepRecipe& recipe) {
  Schedule kernels;
  kernels.step_of.resize(inputs.graph.num_nodes(), -1);
  for (const NodeId id : recipe.schedule.order) {
    if (id.index() >= inputs.graph.num_nodes()) continue;  // a swap
    kernels.step_of[id] = static_cast<int32_t>(kernels.order.size());
    kernels.order.push_back(id);
  }
  const StepModel model =
      MakeStepModel(inputs.graph, inputs.ops, kernels, inputs.compile,
                    inputs.kernel_ns, inputs.profile);
  return LowerBound(
      model, inputs.profile,
      inputs.compile.device_budget_bytes.value_or(model.peak_bytes));
}

absl::StatusOr<StepRecipe> RecipeOf(const TunerInputs& inputs,
                                    const LmsOptions& options) {
  StepRecipe recipe = {.name = DescribeOptions(options), .options = options};
  ASSIGN_OR_RETURN(recipe.swaps, PlanSwaps(options, inputs.graph));
  ASSIGN_OR_RETURN(const Graph edited, ApplyRecipe(recipe, inputs.graph));
  ASSIGN_OR_RETURN(
      recipe.schedule,
      ChooseSchedule(edited, inputs.ops,
                     NodesToRun(edited, inputs.ops, inputs.compile.fetches),
                     ScheduleKind::kMemory,
                     OptionsFor(recipe, edited, inputs.compile)));
  return recipe;
}

std::string DescribeOptions(const LmsOptions& options) {
  switch (options.mode) {
    case LmsMode::kOff:
    case LmsMode::kAuto:
      return std::string(LmsModeName(options.mode));
    case LmsMode::kV1:
      return fmt::format(
          "v1 {} lb {} ub {}{}{}",
          std::string(ControlStrategyName(options.ctrld_strategy)), options.lb,
          options.ub, options.fuse_swapins ? " fused" : "",
          options.swap_branches ? " branches" : "");
    case LmsMode::kV2:
      return fmt::format("v2 threshold {} ahead {} groupby {} sync {}",
                         options.swapout_threshold, options.swapin_ahead,
                         options.swapin_groupby, options.sync_mode);
  }
  return "";
}

}  // namespace spillway
