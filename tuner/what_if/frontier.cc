#include "tuner/what_if/frontier.h"

#include <cmath>
#include <limits>
#include <memory>

#include "base/status_macros.h"
#include "base/stop_request.h"
#include "executor/plan/plan.h"
#include "fmt/format.h"
#include "tuner/profile/resolve_profile.h"

namespace spillway {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;
constexpr int kRungsAnOctave = 8;
// Halvings of the interval between the smallest rung that fits and the next.
constexpr int kHalvings = 3;

int64_t AlignDown(int64_t bytes) { return bytes - bytes % kBufferAlignment; }

class FrontierTuner {
 public:
  explicit FrontierTuner(const TuningSpec& spec)
      : spec_(spec), options_(*spec.options) {
    spec_.options = &options_;
    spec_.finds_smallest_budget = false;
    options_.on_tried = nullptr;
    options_.log = nullptr;
  }

  absl::StatusOr<Frontier> Run() {
    SPILLWAY_ASSIGN_OR_RETURN(bool fits, Add(kUnlimited));
    if (!fits || frontier_.points.empty()) return std::move(frontier_);
    FrontierPoint& first = frontier_.points.front();
    first.device_memory = first.device_bytes;
    const auto peak = static_cast<double>(first.device_bytes);
    int64_t too_small = 0;
    for (int j = 1; fits && !frontier_.interrupted; ++j) {
      const auto rung = static_cast<int64_t>(
          peak * std::exp2(-static_cast<double>(j) / kRungsAnOctave));
      too_small = AlignDown(rung);
      if (too_small == 0) break;
      SPILLWAY_ASSIGN_OR_RETURN(fits, Add(too_small));
    }
    for (int i = 0; i < kHalvings && !frontier_.interrupted; ++i) {
      const int64_t middle =
          AlignDown((too_small + frontier_.points.back().device_memory) / 2);
      SPILLWAY_ASSIGN_OR_RETURN(fits, Add(middle));
      if (!fits) too_small = middle;
    }
    TakeFasterPlansOfSmallerBudgets();
    return std::move(frontier_);
  }

 private:
  // Whether a plan fits the budget.
  absl::StatusOr<bool> Add(int64_t budget) {
    options_.device_memory = budget;
    if (StopRequested(options_.stop)) {
      frontier_.interrupted = true;
      return false;
    }
    // Nearly the same fates are the best for the next budget.
    spec_.start = fates_.get();
    const absl::StatusOr<TunedStep> tuned = TuneStep(spec_);
    if (absl::IsCancelled(tuned.status())) frontier_.interrupted = true;
    if (absl::IsCancelled(tuned.status()) ||
        absl::IsResourceExhausted(tuned.status())) {
      return false;
    }
    SPILLWAY_RETURN_IF_ERROR(tuned.status());
    frontier_.interrupted = tuned->interrupted;
    const auto& fates = tuned->chosen.recipe.fates;
    if (fates != nullptr) fates_ = fates;
    frontier_.points.push_back({.device_memory = budget,
                                .step_ns = tuned->chosen.step.step_ns,
                                .bound_ns = tuned->bound.step_ns,
                                .device_bytes = tuned->chosen.plan.device_bytes,
                                .host_bytes = tuned->chosen.plan.host_bytes,
                                .name = tuned->chosen.recipe.name});
    return true;
  }

  void TakeFasterPlansOfSmallerBudgets() {
    std::vector<FrontierPoint>& points = frontier_.points;
    for (size_t i = points.size(); i-- > 1;) {
      FrontierPoint& larger = points[i - 1];
      const FrontierPoint& smaller = points[i];
      if (smaller.step_ns >= larger.step_ns) continue;
      const FrontierPoint given = larger;
      larger = smaller;
      larger.device_memory = given.device_memory;
      larger.bound_ns = given.bound_ns;
    }
  }

  TuningSpec spec_;
  StepOptions options_;
  std::shared_ptr<const FateChoice> fates_;  // of the last budget
  Frontier frontier_;
};

}  // namespace

absl::StatusOr<Frontier> TuneFrontierOf(const TuningSpec& spec) {
  return FrontierTuner(spec).Run();
}

absl::StatusOr<Frontier> TuneFrontier(const Program& program,
                                      const StepOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(options));
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                            ResolveProfile(options));
  StepOptions settled = options;
  settled.host_memory = HostBudgetFor(options, profile);
  return TuneFrontierOf({.graph = &program.graph,
                         .fetches = program.fetches,
                         .options = &settled,
                         .profile = &profile});
}

std::string FormatFrontierCsv(const Frontier& frontier) {
  std::string text =
      "device_memory_bytes,part_of_peak,step_ms,bound_ms,speed_kept,"
      "device_bytes,host_bytes,plan\n";
  if (frontier.points.empty()) return text;
  const FrontierPoint& first = frontier.points.front();
  for (const FrontierPoint& point : frontier.points) {
    text += fmt::format(
        "{},{:.4f},{:.6f},{:.6f},{:.4f},{},{},\"{}\"\n", point.device_memory,
        static_cast<double>(point.device_memory) /
            static_cast<double>(first.device_memory),
        static_cast<double>(point.step_ns) * 1e-6,
        static_cast<double>(point.bound_ns) * 1e-6,
        static_cast<double>(first.step_ns) / static_cast<double>(point.step_ns),
        point.device_bytes, point.host_bytes, point.name);
  }
  return text;
}

}  // namespace spillway
