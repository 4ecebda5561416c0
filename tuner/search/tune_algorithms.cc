#include "tuner/search/tune_algorithms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "simulator/cost_model.h"

namespace spillway {
namespace {

bool HasChoice(const KnownAlgorithms& known) {
  return std::ranges::any_of(
      known, [](const auto& of_node) { return !of_node.empty(); });
}

// The tuner's inputs for one choice of algorithms.
class Variant {
 public:
  Variant(const TunerInputs& base, const KnownAlgorithms& known,
          AlgorithmNames names)
      : base_(base),
        names_(std::move(names)),
        compile_(base.compile),
        kernel_ns_(
            EstimateKernelTimes(base.graph, base.ops, base.profile, names_)) {
    UseWorkspacesOf(known, names_);
  }

  void UseWorkspacesOf(const KnownAlgorithms& known,
                       const AlgorithmNames& names) {
    compile_.workspace_bytes.resize(base_.graph.num_nodes(), 0);
    SetWorkspaces(known, names, compile_.workspace_bytes);
  }

  const AlgorithmNames& names() const { return names_; }
  TunerInputs Inputs() const {
    return {.graph = base_.graph,
            .ops = base_.ops,
            .keep = base_.keep,
            .compile = compile_,
            .kernel_ns = kernel_ns_,
            .profile = base_.profile,
            .recompute = base_.recompute,
            .choices = base_.choices};
  }

 private:
  const TunerInputs& base_;
  AlgorithmNames names_;
  CompileOptions compile_;
  IdMap<NodeId, int64_t> kernel_ns_;
};

// The fastest algorithm of each kernel with the workspace of its smallest.
Variant BestOfAll(const TunerInputs& inputs, const KnownAlgorithms& known) {
  Variant variant(inputs, known, LimitedChoices(known).front().names);
  variant.UseWorkspacesOf(known, ChooseWithin(known, 0));
  return variant;
}

ClassBounds ClassBoundsOfAny(const TunerInputs& inputs,
                             const KnownAlgorithms& known,
                             const StepRecipe& recipe) {
  if (!HasChoice(known)) return ClassBoundsOf(inputs, recipe);
  return ClassBoundsOf(BestOfAll(inputs, known).Inputs(), recipe);
}

// The device bytes in use at one step, by offset.
class TakenBytes {
 public:
  void Add(const Buffer& buffer) {
    ends_[buffer.offset] = buffer.offset + buffer.bytes;
  }
  void Remove(const Buffer& buffer) { ends_.erase(buffer.offset); }

  // The largest aligned hole in [begin, end).
  int64_t LargestHole(int64_t begin, int64_t end) const {
    int64_t largest = 0;
    for (const auto& [taken_begin, taken_end] : ends_) {
      largest = std::max(largest, taken_begin - begin);
      begin = std::max(begin, AlignUp(taken_end, kBufferAlignment));
    }
    return std::max(largest, end - begin);
  }

 private:
  std::map<int64_t, int64_t> ends_;
};

// By position in the plan's steps: the buffers whose life begins or ends there,
// except residents and workspaces.
using BuffersByStep = std::vector<std::vector<const Buffer*>>;

// For each kernel's node: the largest possible workspace if the plan keeps all
// other buffers.
IdMap<NodeId, int64_t> RoomForWorkspaces(const ExecutionPlan& plan,
                                         size_t num_nodes, int64_t budget) {
  BuffersByStep begins(plan.steps.size() + 1);
  BuffersByStep ends(plan.steps.size() + 1);
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space != Space::kDevice || buffer.bytes == 0 ||
        buffer.kind != BufferKind::kTransient) {
      continue;
    }
    begins[static_cast<size_t>(buffer.live.begin)].push_back(&buffer);
    ends[static_cast<size_t>(buffer.live.end)].push_back(&buffer);
  }
  IdMap<NodeId, int64_t> room(num_nodes);
  TakenBytes taken;
  for (const StepId id : plan.steps.ids()) {
    for (const Buffer* buffer : ends[id.index()]) taken.Remove(*buffer);
    for (const Buffer* buffer : begins[id.index()]) taken.Add(*buffer);
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::kCompute) continue;
    room[step.node] = taken.LargestHole(plan.resident_bytes, budget);
  }
  return room;
}

// Gives a node and its clones the least room among them, so that all take one
// algorithm: another could round differently. `nodes`: the number of nodes of
// the graph with the clones, which are its last nodes.
void ShareRoom(const RecomputePlan& recompute, size_t nodes,
               IdMap<NodeId, int64_t>& room) {
  const size_t first = nodes - recompute.clones.size();
  for (size_t i = 0; i < recompute.clones.size(); ++i) {
    int64_t& of_original = room[recompute.clones[i].original];
    of_original = std::min(of_original, room[NodeId(first + i)]);
  }
  for (size_t i = 0; i < recompute.clones.size(); ++i) {
    room[NodeId(first + i)] = room[recompute.clones[i].original];
  }
}

class AlgorithmTuner {
 public:
  AlgorithmTuner(const TunerInputs& inputs, const KnownAlgorithms& known,
                 const TunerOptions& options)
      : inputs_(inputs),
        known_(known),
        options_(options),
        has_times_(HasTimes(known)) {}

  absl::StatusOr<TunedStep> Run() {
    bool is_fastest = true;
    std::vector<LimitedChoice> choices = LimitedChoices(known_);
    if (options_.takes_first) choices = {choices.back()};
    for (const auto& [limit_bytes, names] : choices) {
      const Variant variant(inputs_, known_, names);
      if (best_ && !CouldBeBetter(variant)) continue;
      const std::string note = is_fastest
                                   ? ""
                                   : fmt::format(", workspaces of at most {}",
                                                 FormatBytes(limit_bytes));
      is_fastest = false;
      SPILLWAY_RETURN_IF_ERROR(Try(variant, note));
      if (best_ && (!best_->is_necessary || !has_times_)) break;
    }
    if (!best_) return failure_;
    if (best_->is_necessary && has_times_ && !options_.takes_first) UseHoles();
    best_->tried = std::move(tried_);
    best_->bound = BoundOfAny(inputs_, known_, best_->chosen.recipe);
    return *std::move(best_);
  }

 private:
  bool ShallStop() const { return options_.stop && options_.stop(); }

  // Those of the graph with the recipe's clones.
  AlgorithmNames NamesFor(const StepRecipe& recipe,
                          AlgorithmNames names) const {
    ExtendToClones(recipe.recompute, inputs_.graph.num_nodes(), names);
    return names;
  }

  bool CouldBeBetter(const Variant& variant) const {
    return !ShallStop() &&
           BoundOf(variant.Inputs(), best_->chosen.recipe).step_ns <
               best_->chosen.step.step_ns;
  }

  void Keep(TriedSet tried) {
    if (options_.on_tried) options_.on_tried(tried);
    tried_.push_back(std::move(tried));
  }

  // Errors: only those that are not about memory.
  absl::Status Try(const Variant& variant, const std::string& note) {
    TunerOptions options = options_;
    options.on_tried = [&](TriedSet tried) {
      tried.name += note;
      Keep(std::move(tried));
    };
    absl::StatusOr<TunedStep> tuned = TuneSwaps(variant.Inputs(), options);
    if (!tuned.ok()) {
      failure_ = tuned.status();
      return absl::IsResourceExhausted(failure_) ? absl::OkStatus() : failure_;
    }
    tuned->chosen.recipe.name += note;
    tuned->chosen.recipe.algorithms =
        NamesFor(tuned->chosen.recipe, variant.names());
    if (!best_ || tuned->chosen.step.step_ns < best_->chosen.step.step_ns) {
      best_ = *std::move(tuned);
    }
    return absl::OkStatus();
  }

  // Tries faster algorithms where the best plan has room; if they do not fit,
  // with half of that room.
  void UseHoles() {
    if (!inputs_.compile.device_budget_bytes) return;
    IdMap<NodeId, int64_t> room =
        RoomForWorkspaces(best_->chosen.plan, best_->chosen.graph.num_nodes(),
                          *inputs_.compile.device_budget_bytes);
    const RecomputePlan& clones = best_->chosen.recipe.recompute;
    if (inputs_.recompute != nullptr) {
      ShareRoom(*inputs_.recompute, inputs_.graph.num_nodes(), room);
    } else if (!clones.clones.empty()) {
      ShareRoom(clones, inputs_.graph.num_nodes() + clones.clones.size(), room);
    }
    if (TryWithRoom(room)) return;
    for (int64_t& bytes : room) bytes /= 2;
    TryWithRoom(room);
  }

  // Returns false if the attempt did not fit.
  bool TryWithRoom(const IdMap<NodeId, int64_t>& room) {
    constexpr int kRounds = 3;
    const Variant variant(inputs_, known_, ChooseWithin(known_, room));
    StepRecipe recipe = best_->chosen.recipe;
    AlgorithmNames names = NamesFor(recipe, variant.names());
    if (names == recipe.algorithms || ShallStop()) return true;
    recipe.name += ", larger in holes";
    recipe.algorithms = std::move(names);
    absl::StatusOr<EvaluatedRecipe> evaluated =
        EvaluateByTime(variant.Inputs(), recipe, kRounds);
    Keep(ToTriedSet(recipe, evaluated));
    if (!evaluated.ok()) return false;
    if (evaluated->step.step_ns < best_->chosen.step.step_ns) {
      best_->reason = ReasonFor("algorithms with larger workspaces in holes",
                                evaluated->plan, inputs_);
      best_->chosen = *std::move(evaluated);
    }
    return true;
  }

  const TunerInputs& inputs_;
  const KnownAlgorithms& known_;
  const TunerOptions& options_;
  const bool has_times_;
  std::optional<TunedStep> best_;
  std::vector<TriedSet> tried_;
  absl::Status failure_;  // of the last limit within which nothing fits
};

}  // namespace

absl::StatusOr<TunedStep> TuneAlgorithms(const TunerInputs& inputs,
                                         const KnownAlgorithms& known,
                                         const TunerOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(TunedStep tuned,
                            HasChoice(known)
                                ? AlgorithmTuner(inputs, known, options).Run()
                                : TuneSwaps(inputs, options));
  if (tuned.is_necessary && !options.takes_first) {
    tuned.class_bounds = ClassBoundsOfAny(inputs, known, tuned.chosen.recipe);
  }
  return tuned;
}

StepTimeBound BoundOfAny(const TunerInputs& inputs,
                         const KnownAlgorithms& known,
                         const StepRecipe& recipe) {
  if (!HasChoice(known)) return BoundOf(inputs, recipe);
  return BoundOf(BestOfAll(inputs, known).Inputs(), recipe);
}

}  // namespace spillway
