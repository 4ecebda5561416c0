#include "tools/spillway/command/completion_command.h"

#include "tools/spillway/command_line.h"
#include "tools/spillway/manual/completion.h"
#include "tools/spillway/output/output.h"

namespace spillway {

void AddCompletionFlags(FlagSet& set, CompletionFlags& flags) {
  set.BeginGroup("Shell");
  set.Choice("shell", flags.shell,
             {.help = "the shell to write the script for",
              .choices = {"bash", "zsh", "fish"}})
      ->required();
}

absl::Status RunCompletion(const CompletionFlags& flags) {
  const ProgramManual program = DescribeProgram();
  if (flags.shell == "zsh") return Print(FormatZshCompletion(program));
  if (flags.shell == "fish") return Print(FormatFishCompletion(program));
  return Print(FormatBashCompletion(program));
}

}  // namespace spillway
