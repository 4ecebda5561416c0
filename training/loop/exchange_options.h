// What the ranks of a run exchange in an update, in words (docs/workers.md).
#ifndef SPILLWAY_TRAINING_LOOP_EXCHANGE_OPTIONS_H_
#define SPILLWAY_TRAINING_LOOP_EXCHANGE_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "training/loop/training_programs.h"
#include "training/workers/bucket_plan.h"
#include "training/workers/sparse_gradients.h"
#include "training/workers/wire_format.h"

namespace spillway {

struct ExchangeOptions {
  BucketSpec buckets = {};
  std::string reduce = "plain";    // or "half", "sparse", "partial"
  std::optional<DType> wire = {};  // of half; nullopt: kFloat16
  double wire_scale = 1;           // WireFormat::scale
  double clip_wire = 0;            // WireFormat::clip
  double spars = 0.05;  // with topk: a part of the elements; else a magnitude
  bool topk = false;
  bool corr = true;             // SparseGradients::keeps_residuals
  bool sync_momentum = false;   // PartialUpdates::averages_slots
  int64_t full_sync_every = 0;  // updates; 0: never
};

// The values of `reduce` to which each of the settings after it applies.
const std::map<std::string, std::vector<std::string>>& WaysOfExchangeSettings();

// TrainingProgramsSpec::wire, sparse and partial.
WireFormat WireOf(const ExchangeOptions& options);
std::optional<SparseGradients> SparseOf(const ExchangeOptions& options);
std::optional<PartialUpdates> PartialOf(const ExchangeOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_EXCHANGE_OPTIONS_H_
