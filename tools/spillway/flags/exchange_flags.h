// Flags for what the ranks of a run exchange in an update.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_EXCHANGE_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_EXCHANGE_FLAGS_H_

#include <string>

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"
#include "training/loop/exchange_options.h"

namespace spillway {

struct ExchangeFlags : ExchangeOptions {
  bool has_buckets = false;  // a flag says something about them
};

// --bucket_mb, --first_bucket_mb, --bucket_elements, --reduce and its flags.
void AddExchangeFlags(FlagSet& set, ExchangeFlags& flags);

// The buckets of the file of --plan, unless a flag says something about them;
// does nothing without the flag. Errors: INVALID_ARGUMENT naming the flag.
absl::Status TakeBuckets(const std::string& plan, ExchangeFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_EXCHANGE_FLAGS_H_
