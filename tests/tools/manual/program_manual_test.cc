#include "tools/spillway/manual/program_manual.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "simulator/shipped_profiles.h"
#include "tests/tools/manual/small_program.h"
#include "tools/spillway/command_line.h"
#include "tools/spillway/flags/flags.h"
#include "tools/spillway/manual/flag_groups.h"
#include "tools/spillway/manual/value_offers.h"

namespace spillway {
namespace {

using ::spillway::testing::SmallProgram;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ValueOffersTest, LowerCaseWordsAreChoices) {
  EXPECT_THAT(OffersOf("off|auto|v1|v2").words,
              ElementsAre("off", "auto", "v1", "v2"));
  EXPECT_THAT(OffersOf("cpu|cuda|cuda:N|inline").words,
              ElementsAre("cpu", "cuda", "inline"));
}

TEST(ValueOffersTest, CapitalsNameKinds) {
  EXPECT_EQ(OffersOf("FILE"), ValueOffers{.files = true});
  EXPECT_EQ(OffersOf("TEXT"), ValueOffers{.files = true});
  EXPECT_EQ(OffersOf("FOLDER"), ValueOffers{.folders = true});
  EXPECT_EQ(OffersOf("SIZE"), ValueOffers{});
  EXPECT_EQ(OffersOf(""), ValueOffers{});
  EXPECT_EQ(OffersOf("MODEL").words.size(), Zoo().size());
  EXPECT_EQ(OffersOf("PROFILE|FILE"),
            (ValueOffers{.words = ShippedProfileNames(), .files = true}));
  EXPECT_THAT(OffersOf("auto|PASS,...").words,
              ::testing::AllOf(Contains("auto"), Contains("fuse_bias_relu")));
}

TEST(DescribeCommandTest, FlagsAreWhatWasAdded) {
  CLI::App app("Go out.", "dog walk");
  app.set_help_flag("-h,--help", "print this text")->group("Help");
  FlagSet set(app);
  std::string pace;
  std::string map;
  std::string trick;
  bool wet = false;
  set.BeginGroup("Walk");
  set.Choice("--pace", pace, {.help = "how", .choices = {"slow", "fast"}})
      ->required();
  set.File("--map", map, "where to");
  set.Bool("--wet", wet, "in rain");
  set.Choice("trick", trick, {.help = "to do", .choices = {"sit"}});

  const CommandManual walk = DescribeCommand("walk", app);
  EXPECT_EQ(walk.name, "walk");
  EXPECT_EQ(walk.summary, "Go out.");
  ASSERT_EQ(walk.flags.size(), 4u);
  EXPECT_EQ(walk.flags[0].name, "--help");
  EXPECT_EQ(walk.flags[0].short_name, "-h");
  EXPECT_EQ(walk.flags[0].value, "");
  EXPECT_EQ(walk.flags[1].name, "--pace");
  EXPECT_EQ(walk.flags[1].value, "slow|fast");
  EXPECT_EQ(walk.flags[1].help, "how");
  EXPECT_EQ(walk.flags[1].group, "Walk");
  EXPECT_TRUE(walk.flags[1].is_required);
  EXPECT_FALSE(walk.flags[1].value_is_optional);
  EXPECT_THAT(walk.flags[1].offers.words, ElementsAre("slow", "fast"));
  EXPECT_TRUE(walk.flags[2].offers.files);
  EXPECT_TRUE(walk.flags[3].value_is_optional);
  ASSERT_EQ(walk.arguments.size(), 1u);
  EXPECT_EQ(walk.arguments[0].name, "trick");
}

TEST(GroupFlagsTest, EqualFlagsAreOneAndNamesakesNeighbours) {
  ProgramManual program = SmallProgram();
  FlagManual other_pace = program.commands[0].flags[1];
  other_pace.help = "of play";
  other_pace.group = "Play";
  program.commands[1].flags.push_back(other_pace);
  program.commands[1].flags.push_back({.name = "--ball", .group = "Play"});

  std::vector<std::string> lines;
  for (const FlagGroup& group : GroupFlags(program)) {
    for (const SharedFlag& shared : group.flags) {
      std::string line = group.heading + ": " + shared.flag.name;
      for (const std::string& command : shared.commands) line += " " + command;
      lines.push_back(line);
    }
  }
  EXPECT_THAT(lines, ElementsAre("Help: --help walk play", "Walk: --pace walk",
                                 "Walk: --pace play", "Walk: --wet walk play",
                                 "Walk: --map walk", "Walk: --home walk",
                                 "Walk: --miles walk", "Play: --ball play"));
}

// A flag that is added directly to CLI11 would lack its type.
TEST(DescribeProgramTest, EveryFlagHasHelpAValueAndAGroup) {
  for (const CommandManual& command : DescribeProgram().commands) {
    EXPECT_NE(command.summary, "") << command.name;
    for (const FlagManual& flag : command.flags) {
      SCOPED_TRACE(command.name + " " + flag.name);
      EXPECT_NE(flag.help, "");
      EXPECT_NE(flag.group, "");
      EXPECT_EQ(flag.value.empty(), flag.name.starts_with("--help"));
    }
  }
}

TEST(DescribeProgramTest, FilesAndNamesAreOffered) {
  for (const CommandManual& command : DescribeProgram().commands) {
    for (const FlagManual& flag : command.flags) {
      SCOPED_TRACE(command.name + " " + flag.name);
      if (flag.name == "--json" || flag.name == "--out") {
        EXPECT_TRUE(flag.offers.files);
      }
      if (flag.name == "--model") {
        EXPECT_THAT(flag.offers.words, Contains("resnet50"));
      }
      if (flag.name == "--profile") {
        EXPECT_THAT(flag.offers.words, Contains("p100_pcie"));
        EXPECT_TRUE(flag.offers.files);
      }
      if (flag.name == "--batch_size") {
        EXPECT_THAT(flag.offers.words, IsEmpty());
        EXPECT_FALSE(flag.offers.files);
      }
    }
  }
}

}  // namespace
}  // namespace spillway
