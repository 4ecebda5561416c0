// Sessions with the real ops.
#ifndef SPILLWAY_TESTS_SUPPORT_NEW_SESSION_H_
#define SPILLWAY_TESTS_SUPPORT_NEW_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "ops/all_ops.h"

namespace spillway::testing {

struct SessionSpec {
  std::string device = "cpu";
  int threads = 1;  // of device and kernels
  double link_gigabytes_per_second = 0;
  std::optional<int64_t> device_memory = {};  // as in SessionOptions
  std::optional<int64_t> host_memory = {};    // the same
  ScheduleKind schedule = ScheduleKind::kAuto;
  uint64_t seed = 0;
  bool check_memory = false;
  bool capture_steps = false;
};

// Errors: as NewDevice and Session::Create.
inline absl::StatusOr<std::unique_ptr<Session>> NewSession(
    std::vector<Program> programs, const SessionSpec& spec = {}) {
  SPILLWAY_ASSIGN_OR_RETURN(
      std::unique_ptr<Device> device,
      NewDevice(spec.device,
                {.threads = spec.threads,
                 .link_gigabytes_per_second = spec.link_gigabytes_per_second}));
  return Session::Create(std::move(programs), std::move(device),
                         {.ops = &StandardOps(),
                          .kernels = &StandardKernels(),
                          .device_memory = spec.device_memory,
                          .host_memory = spec.host_memory,
                          .schedule = spec.schedule,
                          .threads = spec.threads,
                          .seed = spec.seed,
                          .check_memory = spec.check_memory,
                          .capture_steps = spec.capture_steps});
}

// The same for one program.
inline absl::StatusOr<std::unique_ptr<Session>> NewSession(
    Program program, const SessionSpec& spec = {}) {
  std::vector<Program> programs;
  programs.push_back(std::move(program));
  return NewSession(std::move(programs), spec);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_NEW_SESSION_H_
