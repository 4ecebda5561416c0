// What `tune` found, as text, as JSON and as a page.
#ifndef SPILLWAY_TOOLS_SPILLWAY_TUNE_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_TUNE_REPORT_H_

#include <cstdint>
#include <string>

#include "executor/plan/floor.h"
#include "tools/spillway/output.h"
#include "tools/spillway/tune_command.h"
#include "tuner/tuner.h"

namespace spillway {

// Everything pointed to is borrowed.
struct TuneResult {
  const TuneFlags* flags = nullptr;  // with the budget that was tuned for
  const TunedStep* tuned = nullptr;
  MemoryFloor floor = {};
  std::string floor_node = {};  // its name
  std::string profile = {};     // its name
  int64_t batch_size = 0;       // 0: unknown
  double tune_ms = 0;
};

// The sets tried, the choice and its reason, the bound, and the tensors that
// move: what each frees and costs.
std::string FormatTuneResult(const TuneResult& result);

Json TuneJson(const TuneResult& result);

std::string FormatTuneReport(const TuneResult& result);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_TUNE_REPORT_H_
