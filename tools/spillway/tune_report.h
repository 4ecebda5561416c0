// What `tune` found, as text and as JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_TUNE_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_TUNE_REPORT_H_

#include <cstdint>
#include <string>

#include "tools/spillway/output.h"
#include "tools/spillway/tune_command.h"
#include "tuner/tune.h"

namespace spillway {

// Everything pointed to is borrowed.
struct TuneReport {
  const TuneFlags* flags = nullptr;
  const TuneResult* result = nullptr;
  int64_t batch_size = 0;  // 0: unknown
};

// The sets tried, the choice and its reason, the bound, and the tensors that
// move: what each frees and costs.
std::string FormatTuneResult(const TuneReport& report);

Json TuneJson(const TuneReport& report);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_TUNE_REPORT_H_
