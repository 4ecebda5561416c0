// What `tune` found, as text and as JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_TUNE_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_TUNE_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>

#include "tools/spillway/command/tune_command.h"
#include "tools/spillway/output/output.h"
#include "tuner/tune.h"

namespace spillway {

// Everything pointed to is borrowed.
struct TuneReport {
  const TuneFlags* flags = nullptr;
  const TuneResult* result = nullptr;
  int64_t batch_size = 0;  // 0: unknown
};

// The table of what the tuner tries, printed as it grows once something fits: a
// step that does not fit prints no result.
class TriedTable {
 public:
  // `head`: printed above it. `batch_size`: 0: unknown.
  TriedTable(std::string head, int64_t batch_size, Outputs& outputs)
      : waiting_(std::move(head)), batch_size_(batch_size), outputs_(outputs) {}

  void Add(const TriedSet& tried);
  // What still waits, when something was chosen after all.
  void PrintRest();

  // "12 tried, best 212 ms"
  std::string Progress() const;

 private:
  std::string waiting_;  // to be printed with the first that fits
  const int64_t batch_size_;
  Outputs& outputs_;
  int64_t num_tried_ = 0;
  bool has_fitted_ = false;
  int64_t best_ns_ = 0;  // 0: not known
};

// The choice and its reason, the bound, and the tensors that move: what each
// frees and costs.
std::string FormatTuneResult(const TuneReport& report);

Json TuneJson(const TuneReport& report);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_TUNE_REPORT_H_
