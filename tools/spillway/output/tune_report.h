// The result of `tune`, as text and as JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_TUNE_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_TUNE_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/spillway/command/tune_command.h"
#include "tools/spillway/output/output.h"
#include "tuner/tune.h"
#include "tuner/what_if/frontier.h"
#include "tuner/what_if/price_tensors.h"

namespace spillway {

// Borrows everything pointed to.
struct TuneReport {
  const TuneFlags* flags = nullptr;
  const TuneResult* result = nullptr;
  int64_t batch_size = 0;  // 0: unknown
  // Of the largest tensors that leave the device, and those to explain.
  std::vector<TensorPrice> prices = {};
  std::vector<TensorPrice> explained = {};
};

// The tensors of the printed table, as far as they leave the device.
std::vector<std::string> TensorsOfTable(const EvaluatedRecipe& chosen);

// The table of what the tuner tries. Printing starts once a candidate fits: a
// step that does not fit prints no result.
class TriedTable {
 public:
  // `head`: printed above the table. `batch_size`: 0: unknown.
  TriedTable(std::string head, int64_t batch_size, Outputs& outputs)
      : waiting_(std::move(head)), batch_size_(batch_size), outputs_(outputs) {}

  void Add(const TriedSet& tried);
  // Prints what is still waiting; call it if a plan was chosen.
  void PrintRest();

  // "12 tried, best 212 ms"
  std::string Progress() const;

 private:
  std::string waiting_;  // printed with the first candidate that fits
  const int64_t batch_size_;
  Outputs& outputs_;
  int64_t num_tried_ = 0;
  bool has_fitted_ = false;
  int64_t best_ns_ = 0;  // 0: not known
};

// The choice and its reason, the bound, and the tensors that move, with the
// memory that each frees and the time it costs.
std::string FormatTuneResult(const TuneReport& report);

Json TuneJson(const TuneReport& report);

// The time at each budget.
std::string FormatFrontier(const Frontier& frontier);
Json FrontierJson(const Frontier& frontier);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_TUNE_REPORT_H_
