// A session with tuned memory: the one call between a graph and its steps.
//
//   SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
//       CreateTunedSession({.graph = graph, .fetches = {loss}},
//                          {.device = "cpu", .device_memory = 14_MiB}));
//
// It finds the device's profile, prepares the kernels, chooses the swaps (or
// takes a saved plan), compiles, verifies and opens. Results are bitwise
// identical to those of a session without a budget on the same device, with the
// same number of threads and the same algorithms.
#ifndef SPILLWAY_TUNER_TUNED_SESSION_H_
#define SPILLWAY_TUNER_TUNED_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "tuner/choose_step.h"
#include "tuner/step_options.h"

namespace spillway {

// Programs of one session, each with its swaps and order. Only data.
struct TunedPrograms {
  std::vector<ChosenStep> steps = {};
  // The program that needs the most device memory without swaps: options.lms
  // and options.plan apply to it. Each other program runs without swaps if it
  // fits the budget, and is tuned if it does not.
  size_t critical = 0;
  // If there are several programs: the smallest device memory of each without
  // swaps, including all residents of the session (variables, constants).
  std::vector<int64_t> unswapped_bytes = {};
  StepOptions options = {};                  // with the budgets filled in
  std::optional<int64_t> device_limit = {};  // ChosenStep::device_limit
};

// Makes the plans. Runs nothing. `programs`: without swaps and orders, over the
// same variables (executor/session/session.h). Errors: INVALID_ARGUMENT naming
// the program, the option or the fetch; RESOURCE_EXHAUSTED as Tune.
absl::StatusOr<TunedPrograms> TunePrograms(std::vector<Program> programs,
                                           const StepOptions& options);

// Allocates and initialises. Errors: as Session::Create.
absl::StatusOr<std::unique_ptr<Session>> OpenSession(TunedPrograms tuned);

// TunePrograms, then OpenSession. If it tunes, logs to options.log which
// program needs the most memory and what was chosen.
absl::StatusOr<std::unique_ptr<Session>> CreateTunedSession(
    Program program, const StepOptions& options);
absl::StatusOr<std::unique_ptr<Session>> CreateTunedSession(
    std::vector<Program> programs, const StepOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_TUNED_SESSION_H_
