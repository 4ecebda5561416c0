// `spillway import`: an ONNX model as a graph file.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_IMPORT_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_IMPORT_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/flags/graph_source.h"
#include "tools/spillway/output/output.h"

namespace spillway {

struct ImportFlags {
  GraphSourceFlags source = {};
  bool has_loss = false;  // --loss is given: a training step
  std::string out = {};
  std::string weights = {};
  ResultFlags result = {};
};
void AddImportFlags(FlagSet& set, ImportFlags& flags);
absl::Status RunImport(const ImportFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_IMPORT_COMMAND_H_
