// `spillway edit`: only the LMS edit of a graph file.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_EDIT_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_EDIT_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "lms/options.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct EditFlags {
  std::string graph = {};
  std::string out = {};
  std::string dot = {};
  LmsOptions lms = {.mode = LmsMode::kV1};
  ResultFlags result = {};
};
void AddEditFlags(FlagSet& set, EditFlags& flags);
absl::Status RunEdit(const EditFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_EDIT_COMMAND_H_
