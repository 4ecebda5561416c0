#include "tools/spillway/manual/completion.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/manual/small_program.h"
#include "tests/tools/run_program.h"
#include "tools/spillway/command_line.h"

namespace spillway {
namespace {

using ::spillway::testing::ProgramRun;
using ::spillway::testing::Refuses;
using ::spillway::testing::RunProgram;
using ::spillway::testing::SmallProgram;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(BashCompletionTest, OffersCommandsFlagsAndValues) {
  EXPECT_THAT(FormatBashCompletion(SmallProgram()), HasSubstr(R"(
  if ((COMP_CWORD == 1)); then
    words='walk play --version'
  else
    case $command in
      walk)
        flags='--help --pace --wet --map --home --miles'
        case $flag in
          --miles) ;;
          --home) paths=-d ;;
          --map) words='park' paths=-f ;;
          --pace) words='slow fast' ;;
          --wet) words='true false' more=1 ;;
          *) more=1 ;;
        esac
        ;;
      play)
        flags='--help --wet'
        case $flag in
          --wet) words='true false' more=1 ;;
          *) words='sit roll' more=1 ;;
        esac
        ;;
    esac
)"));
}

TEST(ZshCompletionTest, OffersCommandsFlagsAndValues) {
  EXPECT_THAT(FormatZshCompletion(SmallProgram()),
              AllOf(HasSubstr("#compdef dog\n"), HasSubstr(R"(
  commands=(
    'walk:Go out.'
    'play:Do a trick: now.'
    '--version:Print it.'
  )
)"),
                    HasSubstr(R"(
    walk)
      _arguments \
        '(-h --help)'{-h,--help}'[print this text]' \
        '--pace=[the dog'\''s \[own\]]:slow|fast:(slow fast)' \
        '--wet=[in rain]::true|false:(true false)' \
        '--map=[where to]:PLACE|FILE: _dog_names_or_files park' \
        '--home=[kennel]:FOLDER:_files -/' \
        '--miles=[how far]:N: '
      ;;
    play)
      _arguments \
        '(-h --help)'{-h,--help}'[print this text]' \
        '--wet=[in rain]::true|false:(true false)' \
        '1:sit|roll:(sit roll)'
      ;;
)")));
}

TEST(FishCompletionTest, OffersCommandsFlagsAndValues) {
  EXPECT_THAT(FormatFishCompletion(SmallProgram()), HasSubstr(R"(
complete -c dog -f
complete -c dog -n __dog_needs_command -a walk -d 'Go out.'
complete -c dog -n __dog_needs_command -a play -d 'Do a trick: now.'
complete -c dog -n __dog_needs_command -l version -d 'Print it.'
complete -c dog -n '__dog_command_is play' -a 'sit roll'
complete -c dog -n '__dog_command_is walk play' -l help -s h -d 'print this text'
complete -c dog -n '__dog_command_is walk' -l pace -x -a 'slow fast' -d 'the dog\'s [own]'
complete -c dog -n '__dog_command_is walk play' -l wet -f -a 'true false' -d 'in rain'
complete -c dog -n '__dog_command_is walk' -l map -r -F -a 'park' -d 'where to'
complete -c dog -n '__dog_command_is walk' -l home -x -a '(__fish_complete_directories)' -d 'kennel'
complete -c dog -n '__dog_command_is walk' -l miles -x -d 'how far'
)"));
}

TEST(CompletionCommandTest, PrintsTheScriptsOfTheProgram) {
  const ProgramManual program = DescribeProgram();
  EXPECT_EQ(RunProgram({"completion", "bash"}).out,
            FormatBashCompletion(program));
  EXPECT_EQ(RunProgram({"completion", "zsh"}).out,
            FormatZshCompletion(program));
  EXPECT_EQ(RunProgram({"completion", "fish"}).out,
            FormatFishCompletion(program));
}

TEST(CompletionCommandTest, NamesTheShells) {
  EXPECT_THAT(RunProgram({"completion"}),
              Refuses(2, HasSubstr("shell is required; see spillway "
                                   "completion --help")));
  EXPECT_THAT(RunProgram({"completion", "tcsh"}),
              Refuses(2, HasSubstr("\"tcsh\" is not one of bash, zsh, fish")));
  EXPECT_THAT(RunProgram({"completion", "bash", "zsh"}),
              Refuses(2, HasSubstr("zsh")));
  EXPECT_THAT(RunProgram({"completion", "--help"}).out,
              AllOf(HasSubstr("bash|zsh|fish"), Not(HasSubstr("complete "))));
}

// The scripts quote words with single quotes without escaping them.
TEST(CompletionCommandTest, NoOfferedWordMeansAnythingToAShell) {
  for (const CommandManual& command : DescribeProgram().commands) {
    for (const FlagManual& flag : command.flags) {
      for (const std::string& word : flag.offers.words) {
        EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                         "0123456789_.-"),
                  word.npos)
            << command.name << " " << flag.name << " " << word;
      }
    }
  }
}

}  // namespace
}  // namespace spillway
