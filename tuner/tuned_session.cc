#include "tuner/tuned_session.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/compile.h"
#include "executor/session/plan_programs.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "tuner/prepare_step.h"

namespace spillway {
namespace {

// Makes the decisions, program by program.
class ProgramTuner {
 public:
  ProgramTuner(std::vector<Program> programs, const StepOptions& options)
      : programs_(std::move(programs)) {
    result_.options = options;
  }

  absl::StatusOr<TunedPrograms> Run() {
    SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(result_.options));
    SPILLWAY_RETURN_IF_ERROR(CheckPrograms());
    reserved_.resize(programs_.size(), 0);
    SPILLWAY_RETURN_IF_ERROR(FindBudget());
    if (programs_.size() > 1) {
      std::vector<const Program*> all;
      for (const Program& program : programs_) all.push_back(&program);
      SPILLWAY_ASSIGN_OR_RETURN(
          reserved_, BytesOfOtherResidents(all, *result_.options.ops));
      SPILLWAY_RETURN_IF_ERROR(FindCritical());
    }
    result_.steps.resize(programs_.size());
    SPILLWAY_RETURN_IF_ERROR(Choose(result_.critical));  // sets the budgets
    for (size_t i = 0; i < programs_.size(); ++i) {
      if (i != result_.critical) SPILLWAY_RETURN_IF_ERROR(Choose(i));
    }
    result_.options.plan = nullptr;  // borrowed for this call
    return std::move(result_);
  }

 private:
  std::string Name(size_t program) const {
    return fmt::format("program {} ({})", program,
                       programs_[program].graph.name());
  }

  // The budgets in errors are those of this program only.
  std::string NameInErrors(size_t program) const {
    if (reserved_[program] == 0) return Name(program);
    return fmt::format(
        "{}, in addition to {} bytes of variables and constants of the other "
        "programs",
        Name(program), reserved_[program]);
  }

  absl::Status CheckPrograms() const {
    if (programs_.empty()) return InvalidArgument("a session needs a program");
    for (size_t i = 0; i < programs_.size(); ++i) {
      const absl::Status undecided = CheckUndecided(programs_[i]);
      if (!undecided.ok()) return Annotate(undecided, Name(i));
    }
    return absl::OkStatus();
  }

  // The tuner needs a budget.
  absl::Status FindBudget() {
    StepOptions& options = result_.options;
    if (options.plan != nullptr || !NeedsTuning(options.lms)) {
      return absl::OkStatus();
    }
    SPILLWAY_ASSIGN_OR_RETURN(options.device_memory, DeviceBudget(options));
    return absl::OkStatus();
  }

  absl::Status FindCritical() {
    StepOptions unlimited = result_.options;
    unlimited.device_memory.reset();
    for (size_t i = 0; i < programs_.size(); ++i) {
      const PlanSpec spec = {.graph = &programs_[i].graph,
                             .fetches = programs_[i].fetches,
                             .options = &unlimited};
      SPILLWAY_ASSIGN_OR_RETURN(const PlanInputs inputs, PreparePlan(spec));
      SPILLWAY_ASSIGN_OR_RETURN(
          const int64_t smallest,
          SmallestDeviceMemory(programs_[i].graph, inputs, unlimited));
      result_.unswapped_bytes.push_back(smallest + reserved_[i]);
    }
    const auto& bytes = result_.unswapped_bytes;
    result_.critical =
        static_cast<size_t>(std::ranges::max_element(bytes) - bytes.begin());
    if (result_.options.log && NeedsTuning(result_.options.lms)) {
      result_.options.log(fmt::format("{} needs the most memory, {}",
                                      Name(result_.critical),
                                      FormatBytes(bytes[result_.critical])));
    }
    return absl::OkStatus();
  }

  absl::Status Choose(size_t index) {
    const Program& program = programs_[index];
    StepChoiceSpec spec = {.graph = &program.graph,
                           .fetches = program.fetches,
                           .options = result_.options,
                           .reserved_bytes = reserved_[index]};
    if (index != result_.critical) {
      const std::optional<int64_t>& budget = spec.options.device_memory;
      const bool fits = !budget || result_.unswapped_bytes[index] <= *budget;
      spec.options.plan = nullptr;
      spec.options.lms = {.mode = fits ? LmsMode::kOff : LmsMode::kAuto};
    }
    spec.options.warns_of_profile &= !has_warned_of_profile_;
    has_warned_of_profile_ |= spec.options.plan == nullptr;
    absl::StatusOr<ChosenStep> chosen = ChooseStep(spec);
    if (!chosen.ok()) {
      return programs_.size() == 1
                 ? chosen.status()
                 : Annotate(chosen.status(), NameInErrors(index));
    }
    if (index == result_.critical) {
      result_.options.device_memory = chosen->options.device_memory;
      result_.options.host_memory = chosen->options.host_memory;
      result_.device_limit = chosen->device_limit;
    }
    result_.steps[index] = *std::move(chosen);
    return absl::OkStatus();
  }

  const std::vector<Program> programs_;
  std::vector<int64_t> reserved_;  // by program: residents of the others
  bool has_warned_of_profile_ = false;
  TunedPrograms result_;
};

}  // namespace

absl::StatusOr<TunedPrograms> TunePrograms(std::vector<Program> programs,
                                           const StepOptions& options) {
  return ProgramTuner(std::move(programs), options).Run();
}

absl::StatusOr<std::unique_ptr<Session>> OpenSession(TunedPrograms tuned) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            OpenDevice(tuned.options, tuned.device_limit));
  std::vector<Program> programs;
  for (ChosenStep& step : tuned.steps) {
    programs.push_back(ProgramOf(std::move(step)));
  }
  return Session::Create(std::move(programs), std::move(device),
                         SessionOptionsOf(tuned.options));
}

absl::StatusOr<std::unique_ptr<Session>> CreateTunedSession(
    Program program, const StepOptions& options) {
  std::vector<Program> programs;
  programs.push_back(std::move(program));
  return CreateTunedSession(std::move(programs), options);
}

absl::StatusOr<std::unique_ptr<Session>> CreateTunedSession(
    std::vector<Program> programs, const StepOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(TunedPrograms tuned,
                            TunePrograms(std::move(programs), options));
  return OpenSession(std::move(tuned));
}

}  // namespace spillway
