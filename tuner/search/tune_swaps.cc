#include "tuner/search/tune_swaps.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/choose_schedule.h"
#include "fmt/format.h"
#include "lms/v2/levels.h"
#include "tuner/fates/fate_candidates.h"
#include "tuner/model/step_model.h"
#include "tuner/model/swap_player.h"
#include "tuner/search/collective_times.h"
#include "tuner/search/edit_for_swaps.h"
#include "tuner/search/swap_search.h"
#include "tuner/search/tflms_sets.h"

namespace spillway {
namespace {

// Fractions of the budget that the search reserves for holes between buffers.
constexpr std::array<double, 9> kSlacks = {0,    0.003, 0.006, 0.01, 0.02,
                                           0.03, 0.05,  0.08,  0.12};

// The amount of searching.
struct Effort {
  // The search stops at a plan within this factor of the bound.
  double near_bound = 1.001;
  // Skips candidates that SwapPlayer predicts to be slower than the best.
  bool trusts_player = true;
  // Rounds of placing buffers by the times of the previous placement: for each
  // candidate, and finally for the best.
  int rounds = 3;
  int last_rounds = 6;
  // The number of budgets, equally spaced up to the unconstrained peak. Those
  // below the given budget are tried too. They do not depend on the given
  // budget, so what one of them finds is also found with every larger given
  // budget.
  int64_t rungs = 0;
  // A whole grid of TFLMS sets within the given budget, after the usual ones.
  bool whole_grid = false;
  bool tries_all_fates = false;  // FateCandidates::tries_all
  double plays = 1;              // FateCandidates::effort
};

// Graphs with at most this many nodes are tuned in milliseconds.
constexpr size_t kSmallGraph = 100;
constexpr Effort kSmallGraphEffort = {.near_bound = 1,
                                      .trusts_player = false,
                                      .last_rounds = 0,
                                      .rungs = 100,
                                      .whole_grid = true,
                                      .tries_all_fates = true};

StepModel ModelOf(const TunerInputs& inputs, const Schedule& schedule) {
  return MakeStepModel(inputs.graph, inputs.ops, schedule, inputs.compile,
                       inputs.kernel_ns, inputs.profile);
}

// The bound for plans that only swap.
StepTimeBound BoundOfSwaps(const TunerInputs& inputs,
                           const StepRecipe& recipe) {
  const StepModel model = ModelOf(inputs, KernelOrder(recipe, inputs.graph));
  return LowerBound(
      model, inputs.profile,
      inputs.compile.device_budget_bytes.value_or(model.peak_bytes));
}

constexpr int64_t kNoBudget = std::numeric_limits<int64_t>::max() / 2;

// Tensors below this fraction of the unconstrained peak never move.
constexpr int64_t kSmallPart = 16384;

class Tuner {
 public:
  Tuner(const TunerInputs& inputs, const TunerOptions& options)
      : inputs_(inputs),
        options_(options),
        effort_(inputs.graph.num_nodes() <= kSmallGraph ? kSmallGraphEffort
                                                        : Effort()) {
    if (options.effort == SearchEffort::kHigh) {
      effort_.near_bound = 1;
      effort_.plays = 8;
    }
  }

  absl::StatusOr<TunedStep> Run() {
    SPILLWAY_RETURN_IF_ERROR(FindOrders());
    if (MayStayOff()) TryWithoutSwaps();
    if (best_ && !MayGainFromSwaps()) return Finish("LMS is not necessary");
    result_.is_necessary = !best_;
    ModelOrders();
    FindBudgets();
    if (options_.lms.mode == LmsMode::kOff) return Failure();
    if (IsJoint()) SPILLWAY_RETURN_IF_ERROR(TryJoint());
    if (options_.lms.mode == LmsMode::kAuto) TryPerTensor();
    SPILLWAY_RETURN_IF_ERROR(TrySets());
    if (best_) return Finish("the least predicted time of what was tried");
    return Failure();
  }

 private:
  // An explicitly requested set is applied even if the step would fit without.
  bool MayStayOff() const {
    const LmsOptions& lms = options_.lms;
    switch (lms.mode) {
      case LmsMode::kOff:
      case LmsMode::kAuto:
        return true;
      case LmsMode::kV1:
        return false;
      case LmsMode::kV2:
        return lms.v2.swapout_threshold == -1 && lms.v2.swapin_ahead == -1 &&
               lms.v2.swapin_groupby == -1;
    }
    return true;
  }

  struct Order {
    Schedule schedule = {};
    StepModel model = {};  // set once swaps are necessary
  };

  // Creation order, and the memory-saving order if it differs.
  absl::Status FindOrders() {
    for (const ScheduleKind kind :
         {ScheduleKind::kCreation, ScheduleKind::kMemory}) {
      SPILLWAY_ASSIGN_OR_RETURN(
          Schedule schedule,
          ChooseSchedule(inputs_.graph, inputs_.ops, inputs_.keep, kind,
                         inputs_.compile));
      if (orders_.empty() || orders_[0].schedule.order != schedule.order) {
        orders_.push_back({.schedule = std::move(schedule)});
      }
    }
    return absl::OkStatus();
  }

  void ModelOrders() {
    for (Order& order : orders_) order.model = ModelOf(inputs_, order.schedule);
  }

  // The given budget, then the smaller rungs in descending order.
  void FindBudgets() {
    if (!inputs_.compile.device_budget_bytes) return;
    const int64_t given = *inputs_.compile.device_budget_bytes;
    budgets_.push_back(given);
    for (int64_t i = effort_.rungs; i > 0; --i) {
      const int64_t rung = orders_[0].model.peak_bytes / effort_.rungs * i;
      if (rung < given) budgets_.push_back(rung);
    }
  }

  void TryWithoutSwaps() {
    for (size_t i = 0; i < orders_.size() && !best_; ++i) {
      const StepRecipe recipe = {.name = i == 0 ? "off" : "off, memory order",
                                 .schedule = orders_[i].schedule};
      Add(recipe, Evaluate(inputs_, recipe));
    }
    if (!best_ || !inputs_.compile.device_budget_bytes ||
        IsNearWithoutSwaps()) {
      return;
    }
    PlaceForCollectives(best_->recipe);
    // Feeds wait for the bytes of earlier tensors: more bytes may help.
    StepRecipe recipe = best_->recipe;
    recipe.name += ", placed by time";
    Add(recipe, EvaluateByTime(inputs_, recipe, effort_.rounds));
  }

  void PlaceForCollectives(StepRecipe recipe) {
    recipe.placement.expected_ns =
        CollectiveTimes(inputs_.graph, recipe.schedule, inputs_.kernel_ns);
    if (recipe.placement.expected_ns.empty()) return;
    recipe.name += ", placed for collectives";
    Add(recipe, EvaluateByTime(inputs_, recipe, effort_.rounds));
  }

  // Within 0.1 %: a search for less is not worth its time.
  bool IsNearWithoutSwaps() const { return IsWithoutSwapsNear(best_->recipe); }

  // The bound of the recipe's order of the kernels.
  bool IsWithoutSwapsNear(const StepRecipe& recipe) const {
    return IsWithin(1.001, BoundOfSwaps(inputs_, recipe).step_ns);
  }

  // A feed that is in the way may be faster to send away and feed again, and in
  // the other order the step may be faster. Only small graphs are worth that
  // search.
  bool MayGainFromSwaps() const {
    return options_.lms.mode == LmsMode::kAuto &&
           inputs_.graph.num_nodes() <= kSmallGraph &&
           !std::ranges::all_of(orders_, [&](const Order& order) {
             return IsWithoutSwapsNear({.schedule = order.schedule});
           });
  }

  // Whether tensors may be recomputed as the tuner chooses.
  bool IsJoint() const {
    return options_.lms.mode == LmsMode::kAuto && inputs_.choices != nullptr;
  }

  // Errors: none about memory.
  absl::Status TryJoint() {
    if (budgets_.empty()) return absl::OkStatus();
    const FateCandidates candidates = {
        .budget_bytes = budgets_[0],
        .size_threshold_bytes = options_.lms.size_threshold_bytes,
        .takes_first = options_.takes_first,
        .start = options_.start,
        .effort = effort_.plays,
        .tries_all = effort_.tries_all_fates,
        .near_bound = effort_.near_bound,
        .is_settled = [&](int64_t bound_ns) { return IsNear(bound_ns); },
        .stop = [&] { return ShallStop(); },
        .offer =
            [&](StepRecipe recipe) {
              return TryWithin(budgets_[0], std::move(recipe), effort_.rounds);
            }};
    SPILLWAY_ASSIGN_OR_RETURN(const std::vector<Schedule> orders,
                              PossibleSchedules(inputs_.graph, inputs_.ops,
                                                inputs_.keep, inputs_.compile));
    return OfferFates(inputs_, orders, candidates);
  }

  // Tries the order with the lower bound first; the other only if it could be
  // better.
  void TryPerTensor() {
    for (const int64_t budget : budgets_) {
      std::vector<std::pair<int64_t, const Order*>> by_bound_ns;
      for (const Order& order : orders_) {
        by_bound_ns.emplace_back(BoundNs(order.model, budget), &order);
      }
      std::ranges::stable_sort(by_bound_ns);
      if (IsNear(by_bound_ns[0].first)) break;  // nor with a smaller budget
      for (const auto& [bound_ns, order] : by_bound_ns) {
        if (!IsNear(bound_ns)) SearchTensors(*order, bound_ns, budget);
      }
    }
    PlaceBestAnew();
  }

  void PlaceBestAnew() {
    if (!best_ || ShallStop() || effort_.last_rounds == 0 ||
        IsNear(BoundOf(inputs_, best_->recipe).step_ns)) {
      return;
    }
    StepRecipe recipe = best_->recipe;
    recipe.name += ", placed again";
    Add(recipe, EvaluateByTime(inputs_, recipe, effort_.last_rounds));
  }

  int64_t BoundNs(const StepModel& model, int64_t budget) const {
    return LowerBound(model, inputs_.profile, budget).step_ns;
  }

  struct Candidate {
    double slack = 0;
    FoundSwaps found = {};
  };

  void SearchTensors(const Order& order, int64_t bound_ns, int64_t budget) {
    const StepModel& model = order.model;
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
      if (!found.played.fits) break;  // nor with a smaller budget
      candidates.push_back({.slack = slack, .found = std::move(found)});
    }
    std::ranges::stable_sort(candidates, {}, [](const Candidate& candidate) {
      return candidate.found.played.step_ns;
    });
    candidates.resize(std::min(candidates.size(), MostTries()));
    for (const Candidate& candidate : candidates) {
      if (ShallStop() || IsNear(bound_ns)) break;
      if (effort_.trusts_player && best_ &&
          candidate.found.played.step_ns >= best_->step.step_ns) {
        break;
      }
      SwapEdit edit = EditForSwaps(inputs_.graph, inputs_.ops, order.schedule,
                                   model, candidate.found);
      const StepRecipe recipe = {
          .name = fmt::format("per tensor, {:.1f} % of the budget kept free",
                              100 * candidate.slack),
          .swaps = std::move(edit.swaps),
          .schedule = std::move(edit.schedule),
          .placement = {.expected_ns = std::move(edit.expected_ns)}};
      TryWithin(budget, recipe, effort_.rounds);
    }
  }

  // The time of its step if it fits `budget`, the given budget or a rung.
  std::optional<int64_t> TryWithin(int64_t budget, StepRecipe recipe,
                                   int rounds) {
    const bool is_given = budget == budgets_[0];
    if (!is_given) {
      recipe.name += fmt::format(", within {}", FormatBytes(budget));
      recipe.placement.within_bytes = budget;
    }
    absl::StatusOr<EvaluatedRecipe> evaluated =
        EvaluateByTime(inputs_, recipe, rounds);
    std::optional<int64_t> step_ns;
    if (evaluated.ok()) step_ns = evaluated->step.step_ns;
    if (is_given || (evaluated.ok() && IsBetter(*evaluated))) {
      Add(recipe, std::move(evaluated));
    }
    return step_ns;
  }

  absl::Status TrySets() {
    if (best_ && IsNear(BoundOfSwaps(inputs_, best_->recipe).step_ns)) {
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
    if (!effort_.whole_grid) return absl::OkStatus();
    for (const LmsOptions& options : GridOfSets(options_.lms, num_levels)) {
      TrySet(options, /*on_rungs=*/false);
    }
    return absl::OkStatus();
  }

  // Its time if it fits the given budget.
  std::optional<int64_t> TrySet(const LmsOptions& options,
                                bool on_rungs = true) {
    if (ShallStop()) return std::nullopt;
    const absl::StatusOr<StepRecipe> recipe = RecipeOf(inputs_, options);
    if (!recipe.ok()) {
      Add({.name = DescribeOptions(options), .options = options},
          recipe.status());
      return std::nullopt;
    }
    if (budgets_.empty()) {
      Add(*recipe, Evaluate(inputs_, *recipe));
    } else {
      TryWithin(budgets_[0], *recipe, 1);
    }
    const TriedSet tried = result_.tried.back();
    if (!tried.fits) return std::nullopt;
    if (on_rungs) TryOnRungs(*recipe);
    return tried.step_ns;
  }

  void TryOnRungs(const StepRecipe& recipe) {
    if (budgets_.size() < 2) return;
    const StepModel model =
        ModelOf(inputs_, KernelOrder(recipe, inputs_.graph));
    for (const int64_t rung : std::span(budgets_).subspan(1)) {
      if (ShallStop() || IsNear(BoundNs(model, rung)) ||
          !TryWithin(rung, recipe, 1)) {
        break;
      }
    }
  }

  // For each kind of candidate; limited so that large graphs do not take too
  // long.
  size_t MostTries() const {
    constexpr size_t kNodes = 20'000;
    return std::clamp<size_t>(kNodes / (inputs_.graph.num_nodes() + 1), 1, 20);
  }

  // Not before the first candidate: without one there is no result.
  bool ShallStop() const {
    if (best_ && options_.takes_first) return true;
    return options_.stop && !result_.tried.empty() && options_.stop();
  }

  bool IsNear(int64_t bound_ns) const {
    return best_ && IsWithin(effort_.near_bound, bound_ns);
  }

  bool IsWithin(double factor, int64_t bound_ns) const {
    return static_cast<double>(best_->step.step_ns) <=
           factor * static_cast<double>(bound_ns);
  }

  bool IsBetter(const EvaluatedRecipe& evaluated) const {
    return !best_ || evaluated.step.step_ns < best_->step.step_ns;
  }

  void Add(const StepRecipe& recipe,
           absl::StatusOr<EvaluatedRecipe> evaluated) {
    result_.tried.push_back(ToTriedSet(recipe, evaluated));
    if (options_.on_tried) options_.on_tried(result_.tried.back());
    if (evaluated.ok()) {
      if (IsBetter(*evaluated)) best_ = *std::move(evaluated);
    } else if (failure_.ok() || absl::IsResourceExhausted(evaluated.status())) {
      failure_ = evaluated.status();
    }
  }

  absl::Status Failure() const {
    if (!absl::IsResourceExhausted(failure_)) return failure_;
    return Annotate(
        failure_,
        fmt::format("nothing that was tried fits ({}{})",
                    Counted(result_.tried.size(), "candidate"),
                    ShallStop() ? ", then the search was stopped" : ""));
  }

  absl::StatusOr<TunedStep> Finish(std::string_view why) {
    result_.bound = BoundOf(inputs_, best_->recipe);
    result_.reason = ReasonFor(why, best_->plan, inputs_);
    result_.chosen = *std::move(best_);
    return std::move(result_);
  }

  const TunerInputs& inputs_;
  const TunerOptions& options_;
  Effort effort_;
  // Creation order, and the memory-saving order if it differs.
  std::vector<Order> orders_;
  std::vector<int64_t> budgets_;  // to try; empty: no budget
  std::optional<EvaluatedRecipe> best_;
  absl::Status failure_;  // of the last candidate that did not fit, if any
  TunedStep result_;
};

}  // namespace

absl::StatusOr<TunedStep> TuneSwaps(const TunerInputs& inputs,
                                    const TunerOptions& options) {
  return Tuner(inputs, options).Run();
}

TriedSet ToTriedSet(const StepRecipe& recipe,
                    const absl::StatusOr<EvaluatedRecipe>& evaluated) {
  TriedSet tried = {
      .name = recipe.name, .options = recipe.options, .fits = evaluated.ok()};
  if (!evaluated.ok()) {
    tried.reason = std::string(evaluated.status().message());
    return tried;
  }
  tried.device_bytes = evaluated->plan.device_bytes;
  tried.host_bytes = evaluated->plan.host_bytes;
  tried.step_ns = evaluated->step.step_ns;
  return tried;
}

std::string ReasonFor(std::string_view why, const ExecutionPlan& plan,
                      const TunerInputs& inputs) {
  const std::string peak = FormatBytes(plan.device_bytes);
  const std::optional<int64_t>& budget = inputs.compile.device_budget_bytes;
  return budget ? fmt::format("{}: peak {} of {}", std::string(why), peak,
                              FormatBytes(*budget))
                : fmt::format("{}: peak {}, no budget", std::string(why), peak);
}

StepTimeBound BoundOf(const TunerInputs& inputs, const StepRecipe& recipe) {
  if (inputs.choices == nullptr) {
    return WithCommunication(BoundOfSwaps(inputs, recipe), inputs.graph,
                             inputs.kernel_ns);
  }
  const JointBound bound =
      BoundOfFates(inputs, KernelOrder(recipe, inputs.graph),
                   inputs.compile.device_budget_bytes.value_or(kNoBudget), 0);
  return WithCommunication({.step_ns = bound.step_ns,
                            .kernels_ns = bound.kernels_ns,
                            .out_ns = bound.out_ns,
                            .in_ns = bound.in_ns,
                            .recompute_ns = bound.recompute_ns,
                            .issue_ns = bound.issue_ns},
                           inputs.graph, inputs.kernel_ns);
}

ClassBounds ClassBoundsOf(const TunerInputs& inputs, const StepRecipe& recipe) {
  if (inputs.choices == nullptr) return {};
  return ClassBoundsOfFates(
      inputs, KernelOrder(recipe, inputs.graph),
      inputs.compile.device_budget_bytes.value_or(kNoBudget));
}

}  // namespace spillway
