// `spillway models`: the zoo as a table.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_MODELS_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_MODELS_COMMAND_H_

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct ModelsFlags {
  ResultFlags result = {};
};
void AddModelsFlags(FlagSet& set, ModelsFlags& flags);
absl::Status RunModels(const ModelsFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_MODELS_COMMAND_H_
