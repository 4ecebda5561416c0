// Flags for what the ranks of a run exchange in an update.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_EXCHANGE_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_EXCHANGE_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "graph/dtype.h"
#include "tools/spillway/flags/flags.h"
#include "training/loop/training_programs.h"
#include "training/workers/bucket_plan.h"
#include "training/workers/sparse_gradients.h"
#include "training/workers/wire_format.h"

namespace spillway {

struct ExchangeFlags {
  BucketSpec buckets = {};
  bool has_buckets = false;  // a flag says something about them
  std::string reduce = "plain";
  std::optional<DType> wire = {};
  double wire_scale = 1;
  double clip_wire = 0;  // 0: not
  double spars = 0.05;   // with topk: a part of the elements; else a magnitude
  bool topk = false;
  bool corr = true;
  bool sync_momentum = false;
  int64_t full_sync_every = 0;  // updates; 0: never
};

// --bucket_mb, --first_bucket_mb, --bucket_elements, --reduce and its flags.
void AddExchangeFlags(FlagSet& set, ExchangeFlags& flags);

// The buckets of the file of --plan, unless a flag says something about them;
// does nothing without the flag. Errors: INVALID_ARGUMENT naming the flag.
absl::Status TakeBuckets(const std::string& plan, ExchangeFlags& flags);

// How --reduce, --wire, --wire_scale and --clip_wire send gradients.
WireFormat WireOf(const ExchangeFlags& flags);

// How --reduce sparse and partial exchange; nothing: otherwise.
std::optional<SparseGradients> SparseOf(const ExchangeFlags& flags);
std::optional<PartialUpdates> PartialOf(const ExchangeFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_EXCHANGE_FLAGS_H_
