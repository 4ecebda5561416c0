// A session whose memory was tuned: the one call between a graph and its steps.
//
//   SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
//       CreateTunedSession({.graph = graph, .fetches = {loss}},
//                          {.device = "cpu", .device_memory = 14_MiB}));
//
// It finds the device's profile, prepares the kernels, chooses what is swapped
// (or takes a saved plan), compiles, verifies and opens. Results are
// bitwise those of a session without a budget, on the same device with the same
// number of threads and the same algorithms.
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

// Programs of one session, each with its swaps and order; data only.
struct TunedPrograms {
  std::vector<ChosenStep> steps = {};
  // The program that needs the most device memory without swaps: options.lms
  // and options.plan are for it. The others run as they are where they fit the
  // budget, and are tuned where they do not.
  size_t critical = 0;
  // Where there are several programs: the smallest device memory of each
  // without swaps, with all residents of the session (variables, constants).
  std::vector<int64_t> unswapped_bytes = {};
  StepOptions options = {};                  // with the budgets filled in
  std::optional<int64_t> device_limit = {};  // ChosenStep::device_limit
};

// Decides; nothing runs. `programs`: without swaps and orders, over the same
// variables (executor/session/session.h). Errors: INVALID_ARGUMENT naming the
// program, the option or the fetch; RESOURCE_EXHAUSTED as Tune.
absl::StatusOr<TunedPrograms> TunePrograms(std::vector<Program> programs,
                                           const StepOptions& options);

// Allocates and initialises. Errors: as Session::Create.
absl::StatusOr<std::unique_ptr<Session>> OpenSession(TunedPrograms tuned);

// TunePrograms and OpenSession. options.log is told which program needs the
// memory and what was chosen.
absl::StatusOr<std::unique_ptr<Session>> CreateTunedSession(
    Program program, const StepOptions& options);
absl::StatusOr<std::unique_ptr<Session>> CreateTunedSession(
    std::vector<Program> programs, const StepOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_TUNED_SESSION_H_
