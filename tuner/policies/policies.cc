#include "tuner/policies/policies.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/choose_schedule.h"
#include "fmt/format.h"
#include "tuner/bound/crowded_steps.h"
#include "tuner/bound/joint_bound.h"
#include "tuner/fates/fate_candidates.h"
#include "tuner/policies/capuchin.h"
#include "tuner/policies/checkpoints.h"
#include "tuner/policies/dtr.h"
#include "tuner/policies/knapsack.h"
#include "tuner/policies/play_caffe.h"
#include "tuner/policies/play_gpu_manager.h"
#include "tuner/policies/play_unified.h"
#include "tuner/policies/realise.h"
#include "tuner/policies/same_for_all.h"
#include "tuner/policies/vdnn.h"

namespace spillway {
namespace {

// What the plans of a policy may do: its bound holds for all plans that may.
struct PolicyClass {
  bool can_swap = false;
  bool can_recompute = false;
};

using Realise =
    std::function<absl::StatusOr<EvaluatedRecipe>(const PolicyCase&)>;
using Play = std::function<PlayedPolicy(const RuntimeStep&)>;

struct NamedPolicy {
  std::string name = {};
  std::variant<Realise, Play> run = {};
  PolicyClass may = {};
  bool moves_pages = false;
};

NamedPolicy OfFates(std::string name, FatesPolicy policy, PolicyClass may,
                    bool swaps_rest = false) {
  return {.name = std::move(name),
          .run = Realise([=](const PolicyCase& policy_case) {
            return RealiseFates(policy_case, policy, swaps_rest);
          }),
          .may = may};
}

NamedPolicy OfManager(std::string name, EvictionPolicy policy) {
  return {.name = std::move(name),
          .run = Play([=](const RuntimeStep& step) {
            return PlayGpuManager(step, policy);
          }),
          .may = {.can_swap = true}};
}

NamedPolicy OfPages(std::string name, int64_t page_bytes) {
  return {.name = std::move(name),
          .run = Play([=](const RuntimeStep& step) {
            return PlayUnified(step, page_bytes);
          }),
          .may = {.can_swap = true},
          .moves_pages = true};
}

std::vector<NamedPolicy> MakePolicies() {
  constexpr PolicyClass kKeeps = {};
  constexpr PolicyClass kSwaps = {.can_swap = true};
  constexpr PolicyClass kRecomputes = {.can_recompute = true};
  constexpr PolicyClass kBoth = {.can_swap = true, .can_recompute = true};
  const auto sets = [](LmsMode mode) {
    return Realise([=](const PolicyCase& policy_case) {
      return RealiseUsualSets(policy_case, mode);
    });
  };
  return {
      OfFates("keep_all", KeepAllFates, kKeeps),
      OfFates("swap_all", SwapAllFates, kSwaps),
      {.name = "tflms_v1", .run = sets(LmsMode::kV1), .may = kSwaps},
      {.name = "tflms_v2", .run = sets(LmsMode::kV2), .may = kSwaps},
      {.name = "tflms", .run = Realise(RealiseTflms), .may = kSwaps},
      {.name = "swap_per_tensor",
       .run = Realise(RealiseSwapSearch),
       .may = kSwaps},
      OfFates("cheap", CheapFates, kBoth, /*swaps_rest=*/true),
      OfFates("sqrt", SqrtFates, kBoth, /*swaps_rest=*/true),
      OfFates("vdnn_all", VdnnAllFates, kSwaps),
      OfFates("vdnn_conv", VdnnConvFates, kSwaps),
      OfFates("capuchin", CapuchinFates, kBoth),
      OfFates("dtr", DtrFates, kRecomputes),
      OfFates("knapsack", KnapsackFates, kRecomputes),
      OfFates("recompute_all", RecomputeAllFates, kRecomputes),
      OfManager("lru", EvictionPolicy::kLru),
      OfManager("mru", EvictionPolicy::kMru),
      OfManager("lfu", EvictionPolicy::kLfu),
      OfManager("min_evict", EvictionPolicy::kMinEvict),
      OfManager("align_memory", EvictionPolicy::kAlignMemory),
      OfManager("belady", EvictionPolicy::kBelady),
      {.name = "caffe",
       .run = Play([](const RuntimeStep& step) { return PlayCaffe(step); }),
       .may = kSwaps},
      OfPages("unified_64k", 64_KiB),
      OfPages("unified_2m", 2_MiB),
  };
}

const std::vector<NamedPolicy>& Policies() {
  static const auto* policies = new std::vector<NamedPolicy>(MakePolicies());
  return *policies;
}

absl::Status CheckInputs(const TunerInputs& inputs) {
  if (!inputs.compile.device_budget_bytes) {
    return InvalidArgument("policies: need a device budget");
  }
  if (inputs.choices == nullptr) {
    return InvalidArgument("policies: need choices of what to recompute");
  }
  return absl::OkStatus();
}

int64_t MovedBytes(const ExecutionPlan& plan) {
  int64_t bytes = 0;
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::kSwapOut && step.kind != StepKind::kSwapIn &&
        step.kind != StepKind::kFeed) {
      continue;
    }
    bytes += plan.buffers[step.outputs[0]].bytes;
  }
  return bytes;
}

// Evaluates policies for one step.
class Comparison {
 public:
  explicit Comparison(const TunerInputs& inputs) : inputs_(inputs) {}

  absl::StatusOr<EvaluatedPolicy> Run(const NamedPolicy& policy) {
    if (!space_) {
      SPILLWAY_ASSIGN_OR_RETURN(
          const Schedule schedule,
          ChooseSchedule(inputs_.graph, inputs_.ops, inputs_.keep,
                         ScheduleKind::kCreation, inputs_.compile));
      space_.emplace(SpaceOf(inputs_, schedule));
    }
    EvaluatedPolicy evaluated;
    evaluated.result.name = policy.name;
    if (const auto* realise = std::get_if<Realise>(&policy.run)) {
      evaluated.result.is_realised = true;
      SPILLWAY_RETURN_IF_ERROR(RunRealised(*realise, evaluated));
    } else {
      RunPlayed(std::get<Play>(policy.run), evaluated.result);
    }
    const std::optional<StepTimeBound> bound =
        BoundOf(policy, evaluated.chosen);
    if (bound) {
      evaluated.bound = *bound;
      evaluated.result.bound_ns = bound->step_ns;
    }
    return evaluated;
  }

 private:
  absl::Status RunRealised(const Realise& realise, EvaluatedPolicy& evaluated) {
    PolicyResult& result = evaluated.result;
    absl::StatusOr<EvaluatedRecipe> recipe =
        realise({.inputs = inputs_, .space = *space_});
    if (absl::IsInternal(recipe.status())) return recipe.status();
    result.fits = recipe.ok();
    if (!recipe.ok()) {
      result.reason = std::string(recipe.status().message());
      return absl::OkStatus();
    }
    recipe->recipe.name = result.name;
    result.step_ns = recipe->step.step_ns;
    result.device_bytes = recipe->plan.device_bytes;
    result.moved_bytes = MovedBytes(recipe->plan);
    result.recompute_ns = RecomputeNs(recipe->recipe.recompute);
    evaluated.chosen = *std::move(recipe);
    return absl::OkStatus();
  }

  int64_t RecomputeNs(const RecomputePlan& plan) const {
    int64_t ns = 0;
    for (const Clone& clone : plan.clones) {
      ns += clone.derived_output < 0
                ? inputs_.kernel_ns[clone.original]
                : inputs_.choices
                      ->derived[inputs_.graph.output(clone.original,
                                                     clone.derived_output)]
                      .ns;
    }
    return ns;
  }

  void RunPlayed(const Play& play, PolicyResult& result) const {
    const PlayedPolicy played =
        play({.list = space_->list,
              .profile = inputs_.profile,
              .budget_bytes = *inputs_.compile.device_budget_bytes});
    result.fits = played.fits;
    result.reason = played.reason;
    result.step_ns = played.step_ns;
    result.device_bytes = played.device_bytes;
    result.moved_bytes = played.to_host_bytes + played.to_device_bytes;
  }

  // nullopt: no plan of the policy's class fits.
  std::optional<StepTimeBound> BoundOf(
      const NamedPolicy& policy,
      const std::optional<EvaluatedRecipe>& chosen) const {
    if (policy.moves_pages) {
      const int64_t kernels_ns = space_->model.kernels_ns;
      return StepTimeBound{.step_ns = kernels_ns, .kernels_ns = kernels_ns};
    }
    if (std::holds_alternative<Play>(policy.run)) return BoundOfPlayed();
    if (!chosen) return BoundIn(*space_, policy.may);
    const Schedule schedule = KernelOrder(chosen->recipe, inputs_.graph);
    return schedule.order == space_->schedule.order
               ? BoundIn(*space_, policy.may)
               : BoundIn(SpaceOf(inputs_, schedule), policy.may);
  }

  // Of swaps, where fetched tensors need not stay on the device either.
  std::optional<StepTimeBound> BoundOfPlayed() const {
    StepList list = space_->list;
    for (ListedStorage& storage : list.storages) storage.is_fetched = false;
    const StepModel model = MakeStepModel(list, inputs_.profile);
    return Bound(model, std::vector<int64_t>(model.gaps.size(), kCannotRemake),
                 /*can_swap=*/true);
  }

  std::optional<StepTimeBound> BoundIn(const RecomputeSpace& space,
                                       const PolicyClass& may) const {
    std::vector<int64_t> remake_ns(space.model.gaps.size(), kCannotRemake);
    if (may.can_recompute) remake_ns = LeastRemakeNs(space);
    return Bound(space.model, remake_ns, may.can_swap);
  }

  std::optional<StepTimeBound> Bound(const StepModel& model,
                                     const std::vector<int64_t>& remake_ns,
                                     bool can_swap) const {
    const JointBound bound =
        FindJointBound({.model = model,
                        .remake_ns = remake_ns,
                        .profile = inputs_.profile,
                        .budget_bytes = *inputs_.compile.device_budget_bytes,
                        .can_swap = can_swap},
                       0);
    if (!bound.is_feasible) return std::nullopt;
    return StepTimeBound{.step_ns = bound.step_ns,
                         .kernels_ns = bound.kernels_ns,
                         .out_ns = bound.out_ns,
                         .in_ns = bound.in_ns,
                         .recompute_ns = bound.recompute_ns,
                         .issue_ns = bound.issue_ns};
  }

  const TunerInputs& inputs_;
  std::optional<RecomputeSpace> space_;
};

}  // namespace

const std::vector<std::string>& PolicyNames() {
  static const auto* names = [] {
    auto* made = new std::vector<std::string>();
    for (const NamedPolicy& policy : Policies()) made->push_back(policy.name);
    return made;
  }();
  return *names;
}

bool MakesPlan(std::string_view name) {
  return std::ranges::any_of(Policies(), [&](const NamedPolicy& policy) {
    return policy.name == name && std::holds_alternative<Realise>(policy.run);
  });
}

absl::StatusOr<EvaluatedPolicy> EvaluatePolicy(const TunerInputs& inputs,
                                               std::string_view name) {
  SPILLWAY_RETURN_IF_ERROR(CheckInputs(inputs));
  for (const NamedPolicy& policy : Policies()) {
    if (policy.name == name) return Comparison(inputs).Run(policy);
  }
  std::string all;
  for (const std::string& known : PolicyNames()) all += " " + known;
  return InvalidArgument(fmt::format(
      "no policy is named '{}'; the policies are{}", std::string(name), all));
}

absl::StatusOr<std::vector<PolicyResult>> ComparePolicies(
    const TunerInputs& inputs) {
  SPILLWAY_RETURN_IF_ERROR(CheckInputs(inputs));
  Comparison comparison(inputs);
  std::vector<PolicyResult> results;
  for (const NamedPolicy& policy : Policies()) {
    SPILLWAY_ASSIGN_OR_RETURN(EvaluatedPolicy evaluated,
                              comparison.Run(policy));
    results.push_back(std::move(evaluated.result));
  }
  return results;
}

}  // namespace spillway
