#include "tools/spillway/command/manual_command.h"

#include "tools/spillway/command_line.h"
#include "tools/spillway/manual/man_page.h"
#include "tools/spillway/output/output.h"

namespace spillway {

void AddManualFlags(FlagSet& /*set*/, ManualFlags& /*flags*/) {}

absl::Status RunManual(const ManualFlags& /*flags*/) {
  return Print(FormatManPage(DescribeProgram()));
}

}  // namespace spillway
