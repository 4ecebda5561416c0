#include "tuner/fates/fate_candidates.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "tuner/bound/crowded_steps.h"
#include "tuner/fates/edit_for_fates.h"
#include "tuner/fates/joint_search.h"

namespace spillway {
namespace {

// Fractions of the budget that the search reserves for holes between buffers.
// Only the first of them unless it tries all.
constexpr std::array<double, 13> kFateSlacks = {
    0, 0.005, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5};
constexpr size_t kUsualFateSlacks = 5;

// Steps that the thorough search plays, counted by their nodes, and limits of
// the plays.
constexpr double kWork = 3.5e6;
constexpr double kLeastPlays = 40;
constexpr double kMostPlays = 7000;

// Parts of these plays: in each order at first, and for each smaller budget.
constexpr double kFirstPart = 1.0 / 6;
constexpr double kLaterPart = 1.0 / 8;

// Factor on the plays of a search that begins from what was found for another
// budget, while it is within kWarmBound of the bound.
constexpr double kWarmPart = 1.0 / 6;
constexpr double kWarmBound = 1.025;

// A step that is so much slower than the bound is searched for from larger
// budgets, these factors of the given one, down to it: each with kLaterPart of
// the plays, then with the rest. Twice, with other random numbers, if the first
// descent ends kPoorBound above the bound.
constexpr double kFarBound = 1.005;
constexpr std::array<double, 5> kLargerBudgets = {1.5, 1.35, 1.2, 1.1, 1};
constexpr double kRestPart = 0.375;
constexpr uint64_t kDescents = 2;

// A step within this factor of the time that it was played in is placed as well
// as any.
constexpr double kAsPlayed = 1.001;

// Searches with other random numbers if the best plan is so much slower than
// the bound: of a step that is played often enough, and of one that is played
// as often as any.
constexpr uint64_t kSeeds = 2;
constexpr double kPoorPlays = 2000;
constexpr double kPoorBound = 1.05;
constexpr double kPoorBoundOfMost = 1.03;

// Tensors below this fraction of the unconstrained peak are always kept.
constexpr int64_t kKeptPart = 16384;

constexpr int64_t kDoesNotFit = std::numeric_limits<int64_t>::max();

enum class PlanClass : uint8_t {
  kAll,
  kSwapOnly,
  kRecomputeOnly,  // and feeds again
};

// Without memory on the host, only fed tensors leave the device other than to
// be recomputed. How long it takes to feed them again is left out.
JointBound BoundIn(const TunerInputs& inputs, const RecomputeSpace& space,
                   int64_t budget_bytes, int64_t known_ns,
                   PlanClass plans = PlanClass::kAll) {
  const bool can_swap = plans != PlanClass::kRecomputeOnly &&
                        inputs.compile.host_budget_bytes != 0;
  std::vector<int64_t> remake_ns =
      plans == PlanClass::kSwapOnly
          ? std::vector<int64_t>(space.model.gaps.size(), kCannotRemake)
          : LeastRemakeNs(space);
  if (!can_swap) {
    for (size_t i = 0; i < remake_ns.size(); ++i) {
      const auto copy = static_cast<size_t>(space.model.gaps[i].copy_out);
      if (space.model.copies[copy].is_feed) remake_ns[i] = 0;
    }
  }
  return FindJointBound({.model = space.model,
                         .remake_ns = remake_ns,
                         .profile = space.profile,
                         .budget_bytes = budget_bytes,
                         .can_swap = can_swap},
                        known_ns);
}

// The search in one order of the kernels.
class OrderSearch {
 public:
  // Borrows all.
  OrderSearch(const TunerInputs& inputs, const Schedule& schedule,
              const FateCandidates& candidates)
      : inputs_(inputs),
        candidates_(candidates),
        space_(SpaceOf(inputs, schedule)),
        bound_(BoundIn(inputs, space_, candidates.budget_bytes, 0)),
        least_bytes_(
            LeastSearchedBytes(space_, candidates.size_threshold_bytes)) {}

  // Whether it found a step that could be the best.
  bool Begin() {
    if (!bound_.is_feasible || candidates_.is_settled(bound_.step_ns) ||
        StopRequested(candidates_.stop)) {
      return false;
    }
    if (StartsHere()) SearchFrom(candidates_.start->fates, kFirstPart);
    if (!IsWarm()) Take(SearchFates(Player(0), {}, Options(kFirstPart)));
    return found_.has_value();
  }

  int64_t found_ns() const { return found_->played.step_ns; }

  // Whether an offer fits. After Begin() was true.
  absl::StatusOr<bool> Offer() {
    const JointStep begun = *found_;
    SPILLWAY_ASSIGN_OR_RETURN(bool fits, Search(begun));
    for (uint64_t seed = 1; seed < kSeeds && IsWorthAnother(); ++seed) {
      seed_ = seed;
      SPILLWAY_ASSIGN_OR_RETURN(const bool fits_now, Search(begun));
      fits |= fits_now;
    }
    return fits;
  }

 private:
  // What was found with this fraction of the budget kept free.
  struct Trial {
    double slack = 0;
    Fates fates = {};
    int64_t played_ns = 0;
    int64_t step_ns = kDoesNotFit;  // as placed

    bool fits() const { return step_ns != kDoesNotFit; }
  };

  // Whether the fates to start from belong to this order.
  bool StartsHere() const {
    return candidates_.start != nullptr &&
           candidates_.start->schedule.order == space_.schedule.order &&
           candidates_.start->fates.of_gap.size() == space_.num_gaps();
  }

  // Searches from this step, and in a narrow budget also from larger ones;
  // within the budget, and slightly smaller ones. Offers each result. Whether
  // one fits.
  absl::StatusOr<bool> Search(const JointStep& begun) {
    trials_.clear();
    std::vector<Fates> seeds = {begun.fates};
    double part = 1;
    if (IsFar(begun)) {
      if (std::optional<Fates> more = FromLargerBudgets()) {
        seeds.push_back(*std::move(more));
      }
      part = kRestPart;
    }
    for (const double slack : Slacks()) {
      SPILLWAY_ASSIGN_OR_RETURN(const bool goes_on, Try(slack, seeds, part));
      if (!goes_on) break;
      if (!candidates_.tries_all && IsAsPlayed(trials_.back())) break;
      seeds = {found_->fates};
      part = kLaterPart;
    }
    SPILLWAY_RETURN_IF_ERROR(TryBetween());
    return std::ranges::any_of(trials_, &Trial::fits);
  }

  std::span<const double> Slacks() const {
    const std::span<const double> all = kFateSlacks;
    return candidates_.tries_all ? all : all.first(kUsualFateSlacks);
  }

  // Keeps this fraction of the budget free. Adds a trial if it could be the
  // best. False: nor could one with a smaller budget.
  absl::StatusOr<bool> Try(double slack, const std::vector<Fates>& seeds,
                           double part) {
    const bool is_first = trials_.empty();
    if (!is_first && StopRequested(candidates_.stop)) return false;
    if (candidates_.is_settled(bound_.step_ns)) return false;
    JointSearchOptions search = Options(part);
    if (!is_first) search.heat /= 4;
    search.usual_seeds = false;
    found_ = SearchFates(Player(slack), seeds, search);
    if (!found_) return false;
    if (candidates_.is_settled(found_ns())) return candidates_.tries_all;
    Trial trial = {
        .slack = slack, .fates = found_->fates, .played_ns = found_ns()};
    if (!is_first && trials_.back().fates == trial.fates) {
      trial.step_ns = trials_.back().step_ns;
    } else {
      SPILLWAY_ASSIGN_OR_RETURN(StepRecipe recipe, RecipeFor(space_, *found_));
      recipe.name =
          fmt::format("joint, {:.1f} % of the budget kept free", 100 * slack);
      trial.step_ns =
          candidates_.offer(std::move(recipe)).value_or(kDoesNotFit);
    }
    trials_.push_back(std::move(trial));
    return true;
  }

  // Halfway from the best trial to its neighbors.
  absl::Status TryBetween() {
    if (!IsThorough() || trials_.size() < 2) return absl::OkStatus();
    const auto best = std::ranges::min_element(trials_, {}, &Trial::step_ns);
    std::vector<std::pair<Trial, Trial>> pairs;
    if (best != trials_.begin()) pairs.emplace_back(*(best - 1), *best);
    if (best + 1 != trials_.end() && !IsAsPlayed(*best)) {
      pairs.emplace_back(*best, *(best + 1));
    }
    for (const auto& [wide, narrow] : pairs) {
      SPILLWAY_RETURN_IF_ERROR(Try(std::midpoint(wide.slack, narrow.slack),
                                   {wide.fates, narrow.fates}, kLaterPart)
                                   .status());
    }
    return absl::OkStatus();
  }

  // Whether its placement costs no time, so that a smaller budget is no better.
  static bool IsAsPlayed(const Trial& trial) {
    return static_cast<double>(trial.step_ns) <=
           kAsPlayed * static_cast<double>(trial.played_ns);
  }

  // Whether the best plan so far is so slow, and the graph so small, that
  // another search with other random numbers pays.
  bool IsWorthAnother() const {
    const double poor =
        NumPlays() == kMostPlays ? kPoorBoundOfMost : kPoorBound;
    return IsThorough() && NumPlays() >= kPoorPlays &&
           !candidates_.is_settled(TimesBound(poor)) &&
           !StopRequested(candidates_.stop);
  }

  // Takes what a search from these fates alone finds if it is faster.
  void SearchFrom(const Fates& fates, double part) {
    JointSearchOptions search = Options(part);
    search.usual_seeds = false;
    Take(SearchFates(Player(0), {fates}, search));
  }

  void Take(std::optional<JointStep> step) {
    if (step && (!found_ || step->Key() < found_->Key())) {
      found_ = std::move(step);
    }
  }

  // Whether all effort goes into this budget. Not so if a larger one has been
  // searched before, whose fates are the start.
  bool IsThorough() const {
    return !candidates_.takes_first && candidates_.start == nullptr;
  }

  bool IsFar(const JointStep& step) const {
    return IsThorough() && IsAbove(kFarBound, step.played.step_ns);
  }

  // In a narrow budget, a search that begins far from a good choice stays
  // there. So this one begins where there is room, and goes down budget by
  // budget; twice, if that ends far from the bound.
  std::optional<Fates> FromLargerBudgets() const {
    std::optional<JointStep> best;
    for (uint64_t descent = 0; descent < kDescents; ++descent) {
      std::optional<JointStep> step = Descend(seed_ * kDescents + descent);
      if (step && (!best || step->Key() < best->Key())) best = std::move(step);
      if (!best || !IsAbove(kPoorBound, best->played.step_ns)) break;
    }
    if (!best) return std::nullopt;
    return std::move(best->fates);
  }

  std::optional<JointStep> Descend(uint64_t seed) const {
    std::optional<JointStep> step;
    for (const double factor : kLargerBudgets) {
      JointSearchOptions search = Options(kLaterPart);
      search.seed = seed;
      search.bound_ns = factor == 1 ? NearBoundNs() : 0;
      search.usual_seeds = !step;
      std::vector<Fates> larger;
      if (step) larger.push_back(std::move(step->fates));
      step = SearchFates(Player(1 - factor), larger, search);
      if (!step || StopRequested(candidates_.stop)) return std::nullopt;
    }
    return step;
  }

  // Whether the step takes longer than so many times the bound.
  bool IsAbove(double factor, int64_t step_ns) const {
    return step_ns > TimesBound(factor);
  }

  int64_t TimesBound(double factor) const {
    return static_cast<int64_t>(factor * static_cast<double>(bound_.step_ns));
  }

  bool IsWarm() const {
    return candidates_.start != nullptr && found_ &&
           !IsAbove(kWarmBound, found_->played.step_ns);
  }

  JointPlayer Player(double slack) const {
    const auto budget = static_cast<double>(candidates_.budget_bytes);
    return {space_, static_cast<int64_t>(budget * (1 - slack)), least_bytes_,
            inputs_.compile.host_budget_bytes.value_or(JointPlayer::kNoLimit)};
  }

  int64_t NearBoundNs() const { return TimesBound(candidates_.near_bound); }

  double NumPlays() const {
    const auto steps = static_cast<double>(space_.model.steps.size()) + 1;
    return std::clamp(kWork / steps, kLeastPlays, kMostPlays);
  }

  JointSearchOptions Options(double part) const {
    JointSearchOptions options = {.size_threshold_bytes = least_bytes_,
                                  .plays = 0,
                                  .bound_ns = NearBoundNs(),
                                  .seed = seed_,
                                  .stop = candidates_.stop};
    const double plays = NumPlays();
    options.fit_plays = static_cast<int64_t>(plays * kFirstPart);
    if (candidates_.takes_first) return options;
    if (IsWarm()) part *= kWarmPart;
    options.plays = static_cast<int64_t>(plays * candidates_.effort * part);
    return options;
  }

  const TunerInputs& inputs_;
  const FateCandidates& candidates_;
  const RecomputeSpace space_;
  const JointBound bound_;
  const int64_t least_bytes_;
  std::optional<JointStep> found_;
  std::vector<Trial> trials_;
  uint64_t seed_ = 0;
};

}  // namespace

RecomputeSpace SpaceOf(const TunerInputs& inputs, const Schedule& schedule) {
  return MakeRecomputeSpace({.graph = inputs.graph,
                             .ops = inputs.ops,
                             .schedule = schedule,
                             .compile = inputs.compile,
                             .kernel_ns = inputs.kernel_ns,
                             .derived = inputs.choices->derived,
                             .profile = inputs.profile,
                             .recompute = inputs.choices->options});
}

int64_t LeastSearchedBytes(const RecomputeSpace& space,
                           int64_t size_threshold_bytes) {
  return std::max(size_threshold_bytes, space.model.peak_bytes / kKeptPart);
}

absl::Status OfferFates(const TunerInputs& inputs,
                        std::span<const Schedule> orders,
                        const FateCandidates& candidates) {
  std::vector<std::unique_ptr<OrderSearch>> searches;
  for (const Schedule& order : orders) {
    auto search = std::make_unique<OrderSearch>(inputs, order, candidates);
    if (search->Begin()) searches.push_back(std::move(search));
  }
  std::ranges::stable_sort(
      searches, {}, [](const auto& search) { return search->found_ns(); });
  for (const auto& search : searches) {
    SPILLWAY_ASSIGN_OR_RETURN(const bool fits, search->Offer());
    if ((fits && !candidates.tries_all) || StopRequested(candidates.stop)) {
      break;
    }
  }
  return absl::OkStatus();
}

JointBound BoundOfFates(const TunerInputs& inputs, const Schedule& schedule,
                        int64_t budget_bytes, int64_t known_ns) {
  return BoundIn(inputs, SpaceOf(inputs, schedule), budget_bytes, known_ns);
}

ClassBounds ClassBoundsOfFates(const TunerInputs& inputs,
                               const Schedule& schedule, int64_t budget_bytes) {
  const RecomputeSpace space = SpaceOf(inputs, schedule);
  const auto bound_ns = [&](PlanClass plans) {
    const JointBound bound = BoundIn(inputs, space, budget_bytes, 0, plans);
    return bound.is_feasible ? std::optional(bound.step_ns) : std::nullopt;
  };
  return {.swap_only_ns = bound_ns(PlanClass::kSwapOnly),
          .recompute_only_ns = bound_ns(PlanClass::kRecomputeOnly)};
}

}  // namespace spillway
