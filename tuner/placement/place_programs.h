// Decides which nodes of a session's programs run on the host, so that a step
// can train of which one node, or the variables, need more memory than the
// device has:
//
//   SPILLWAY_ASSIGN_OR_RETURN(const PlacementReport placed,
//       PlacePrograms(PlaceMode::kAuto, options, programs));
//   SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
//       CreateTunedSession(std::move(programs), options));
//
// Everything after it (swaps, recomputation, plans, predictions) works on the
// placed programs as on any other.
#ifndef SPILLWAY_TUNER_PLACEMENT_PLACE_PROGRAMS_H_
#define SPILLWAY_TUNER_PLACEMENT_PLACE_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "tuner/step_options.h"

namespace spillway {

enum class PlaceMode : uint8_t {
  kOff,       // every node is on the device, except as below
  kAuto,      // on the host: only what no swaps could make fit
  kUpdates,   // on the host: all nodes that only update variables
  kEstimate,  // SystemML's setGPU: by an estimate for each node (estimate.h)
  kForce,     // SystemML's setForceGPU: on the host only if there is no kernel
              // for the device
};
std::string_view PlaceModeName(PlaceMode mode);  // "auto"

// What is on the host.
struct PlacementReport {
  PlaceMode mode = PlaceMode::kOff;
  // Nodes with a kernel, by program, in order of ids.
  std::vector<std::vector<std::string>> nodes = {};
  std::vector<std::string> variables = {};  // in order of names
  int64_t variable_bytes = 0;

  bool is_empty() const { return variables.empty() && num_nodes() == 0; }
  size_t num_nodes() const;
};

// Changes `programs`, of one session, whose variables are then in the same
// memory in all of them. Ids of nodes and values stay. The budgets are those of
// `options`: the device's, of which the programs' variables and constants are a
// part, and the host's.
//
// kAuto places the node with the largest working set, or if the variables leave
// too little room for it, the update of the largest variables, until the floor
// of each program (executor/plan/floor.h) is within the device's budget. The
// step may then still need swaps.
//
// With each mode, collectives are on the host if the device cannot do them: on
// a GPU, those that have no kernel there, and all with a communicator without
// streams() (options.communicator), which sends the host's memory, or without a
// communicator if options.network is staged.
//
// `host_variables` are on the host in any case: those of the session's other
// programs.
//
// Errors: INVALID_ARGUMENT for programs with orders or algorithms;
// RESOURCE_EXHAUSTED if kAuto finds nothing more to place, with the floor;
// those of PlaceOnHost and PreparePlan.
absl::StatusOr<PlacementReport> PlacePrograms(
    PlaceMode mode, const StepOptions& options, std::vector<Program>& programs,
    const std::vector<std::string>& host_variables = {});

// For a single program.
absl::StatusOr<PlacementReport> PlaceProgram(
    PlaceMode mode, const StepOptions& options, Program& program,
    const std::vector<std::string>& host_variables = {});

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PLACEMENT_PLACE_PROGRAMS_H_
