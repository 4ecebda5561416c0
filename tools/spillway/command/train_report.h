// What `spillway train` prints, and its JSON result (docs/cli.md).
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/trace/timeline.h"
#include "tools/spillway/command/train_setup.h"
#include "tools/spillway/output/output.h"
#include "training/trainer.h"

namespace spillway {

struct TrainResult {
  std::vector<EpochResult> epochs = {};
  std::vector<double> losses = {};          // by update of this run
  std::vector<double> learning_rates = {};  // the same
  int64_t swap_steps = 0;                   // of program 0, in this run
  Timeline last_step = {};
  std::string checksum = {};

  bool interrupted() const {
    return !epochs.empty() && epochs.back().interrupted;
  }
  int64_t num_steps() const { return static_cast<int64_t>(losses.size()); }
  int64_t num_complete_epochs() const;
};

std::string FormatStart(const TrainSetup& setup);
std::string FormatEpoch(const EpochResult& epoch);
// SystemML's lines: "Iter:100, training loss:0.19, training accuracy:92.2".
std::string FormatIteration(int64_t micro_batch, const char* what, double loss,
                            double accuracy);
// "after 12 of 18 steps, 2 of 3 epochs complete"
std::string FormatDone(const TrainSetup& setup, const TrainResult& result);
std::string FormatEnd(const TrainSetup& setup, const TrainResult& result);

Json TrainJson(const TrainFlags& flags, const TrainSetup& setup,
               const TrainResult& result);

// The updates that the training would take, at most 10,000 of them.
Json DryRunJson(const TrainLoop& loop);
std::string FormatDryRun(const TrainLoop& loop);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_REPORT_H_
