#include "tuner/what_if/remedies.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "tuner/placement/place_programs.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/simulate.h"
#include "tuner/tune.h"
#include "tuner/tuned_session.h"

namespace spillway {
namespace {

// Policies that recompute without a copy.
constexpr std::array<std::string_view, 3> kRecomputing = {"knapsack", "dtr",
                                                          "recompute_all"};

class RemedyFinder {
 public:
  RemedyFinder(const RemedySpec& spec, const StepOptions& options)
      : spec_(spec), options_(options) {
    options_.plan = nullptr;
    options_.log = nullptr;
    options_.own_variables = spec.own_variables;
  }

  absl::StatusOr<Remedies> Run() {
    SPILLWAY_RETURN_IF_ERROR(SetBudget());
    SPILLWAY_ASSIGN_OR_RETURN(const Program step, spec_.step(spec_.batch_size));
    SPILLWAY_RETURN_IF_ERROR(Classify(step));
    if (result_.found == RemedyCase::kNothing) return std::move(result_);
    StepOptions swaps = options_;
    swaps.lms.recompute.policy = RecomputePolicy::kOff;
    AddTuned("swapping", Tune(step, swaps));
    AddTuned("recomputation", Recomputed(step));
    AddTuned("both", Tune(step, options_));
    AddTuned("updates on the host", Placed(step, PlaceMode::kUpdates));
    if (result_.found == RemedyCase::kPlacement) {
      AddTuned("large nodes on the host", Placed(step, PlaceMode::kAuto));
    }
    return AddGroups();
  }

 private:
  absl::Status SetBudget() {
    SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                              ResolveProfile(options_));
    options_.warns_of_profile = false;
    SPILLWAY_ASSIGN_OR_RETURN(result_.budget_bytes,
                              TuningBudget(options_, profile));
    options_.device_memory = result_.budget_bytes;
    options_.host_memory = HostBudgetFor(options_, profile);
    return absl::OkStatus();
  }

  StepOptions WithoutSwaps() const {
    StepOptions plain = options_;
    plain.lms = {.mode = LmsMode::kOff};
    return plain;
  }

  absl::Status Classify(const Program& step) {
    SPILLWAY_ASSIGN_OR_RETURN(const StepPrediction plain,
                              Simulate(step, WithoutSwaps()));
    result_.step_bytes = plain.smallest_device_bytes;
    result_.step_ns = plain.step.step_ns;
    result_.largest_node_bytes = plain.floor.bytes;
    if (plain.floor.node.is_valid()) {
      result_.largest_node = plain.chosen.graph.node(plain.floor.node).name;
    }
    SPILLWAY_ASSIGN_OR_RETURN(const Program one_row, spec_.step(1));
    SPILLWAY_ASSIGN_OR_RETURN(const StepPrediction of_one,
                              Simulate(one_row, WithoutSwaps()));
    result_.one_row_bytes = of_one.smallest_device_bytes;
    const int64_t budget = result_.budget_bytes;
    if (plain.fits.ok()) {
      result_.found = RemedyCase::kNothing;
    } else if (result_.largest_node_bytes > budget) {
      result_.found = RemedyCase::kPlacement;
    } else if (result_.one_row_bytes > budget) {
      result_.found = RemedyCase::kEviction;
    } else {
      result_.found = RemedyCase::kSmallBatch;
    }
    return absl::OkStatus();
  }

  void AddTuned(std::string name, const absl::StatusOr<TuneResult>& tuned) {
    Remedy& remedy = result_.remedies.emplace_back();
    remedy.name = std::move(name);
    remedy.fits = tuned.status();
    remedy.rows = spec_.batch_size;
    if (!tuned.ok()) return;
    remedy.device_bytes = tuned->step.chosen.plan.device_bytes;
    remedy.update_ns = tuned->step.chosen.step.step_ns;
  }

  // With both, after nodes were placed on the host.
  absl::StatusOr<TuneResult> Placed(Program step, PlaceMode mode) const {
    SPILLWAY_RETURN_IF_ERROR(PlaceProgram(mode, options_, step).status());
    return Tune(step, options_);
  }

  // The fastest of the policies that only recompute.
  absl::StatusOr<TuneResult> Recomputed(const Program& step) const {
    absl::StatusOr<TuneResult> best =
        ResourceExhausted("no policy that only recomputes fits");
    for (const std::string_view policy : kRecomputing) {
      absl::StatusOr<TuneResult> tuned = TuneAsPolicy(step, options_, policy);
      if (!tuned.ok()) continue;
      if (!best.ok() ||
          tuned->step.chosen.step.step_ns < best->step.chosen.step.step_ns) {
        best = std::move(tuned);
      }
    }
    return best;
  }

  // Halves the batch until micro-batches fit without swaps.
  absl::StatusOr<Remedies> AddGroups() {
    int64_t rows = spec_.batch_size;
    while (rows > 1) {
      rows = (rows + 1) / 2;
      SPILLWAY_ASSIGN_OR_RETURN(Remedy remedy, Grouped(rows));
      const bool is_plain = remedy.is_plain;
      result_.remedies.push_back(std::move(remedy));
      if (is_plain) break;
    }
    return std::move(result_);
  }

  absl::StatusOr<Remedy> Grouped(int64_t rows) const {
    Remedy remedy;
    remedy.rows = rows;
    remedy.micro_batches = (spec_.batch_size + rows - 1) / rows;
    remedy.name =
        fmt::format("looped_minibatch {} x {}", remedy.micro_batches, rows);
    SPILLWAY_ASSIGN_OR_RETURN(std::vector<Program> programs,
                              spec_.grouped(rows));
    const Program update = programs.back();
    absl::StatusOr<TunedPrograms> tuned =
        TunePrograms(std::move(programs), options_);
    remedy.fits = tuned.status();
    if (!tuned.ok()) return remedy;
    remedy.is_plain = tuned->unswapped_bytes[0] <= result_.budget_bytes;
    SPILLWAY_ASSIGN_OR_RETURN(const StepPrediction micro,
                              Predict(tuned->steps[0]));
    SPILLWAY_ASSIGN_OR_RETURN(const StepPrediction last,
                              Simulate(update, WithoutSwaps()));
    // The residents of both programs are on the device during both.
    remedy.device_bytes =
        remedy.is_plain ? tuned->unswapped_bytes[0] : result_.budget_bytes;
    remedy.update_ns =
        remedy.micro_batches * micro.step.step_ns + last.step.step_ns;
    return remedy;
  }

  // The chosen step of a micro-batch, as it will run.
  absl::StatusOr<StepPrediction> Predict(const ChosenStep& chosen) const {
    if (chosen.search) {
      StepPrediction predicted;
      predicted.step.step_ns = chosen.search->step_ns;
      return predicted;
    }
    StepOptions options = WithoutSwaps();
    options.device_memory.reset();
    return Simulate({.graph = chosen.graph, .fetches = chosen.fetches},
                    options);
  }

  const RemedySpec& spec_;
  StepOptions options_;
  Remedies result_;
};

}  // namespace

std::string_view RemedyCaseName(RemedyCase found) {
  constexpr std::array<std::string_view, 4> kNames = {
      "nothing", "placement", "eviction", "small_batch"};
  return kNames[static_cast<size_t>(found)];
}

absl::StatusOr<Remedies> ExplainRemedies(const RemedySpec& spec,
                                         const StepOptions& options) {
  return RemedyFinder(spec, options).Run();
}

}  // namespace spillway
