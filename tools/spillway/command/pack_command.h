// `spillway pack`: runs only the arena packer, on a file of buffers.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_PACK_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_PACK_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct PackFlags {
  std::string csv = {};
  int64_t capacity = 0;
  std::string out = {};
  int64_t alignment = 1;
  double time_limit = 60;  // seconds
  ResultFlags result = {};
};
void AddPackFlags(FlagSet& set, PackFlags& flags);

// RESOURCE_EXHAUSTED if the capacity was not met; then the result was written,
// but not --out.
absl::Status RunPack(const PackFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_PACK_COMMAND_H_
