// Invalid input of any kind: one line that names the problem, the right exit
// status, and no file changed.
#include <unistd.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunProgram;

// A command line that must be refused, and text that the line on stderr must
// have.
struct BadCommandLine {
  std::string name = {};  // of the test
  std::vector<std::string> arguments = {};
  std::string message = {};
};

class CommandLineTest : public ::testing::TestWithParam<BadCommandLine> {};

TEST_P(CommandLineTest, IsRefusedInOneLine) {
  EXPECT_THAT(RunProgram(GetParam().arguments),
              Refuses(2, HasSubstr(GetParam().message)));
}

std::vector<BadCommandLine> BadUsage() {
  return {
      {"NoCommand",
       {},
       "bench, completion, edit, import, inspect, launch, manual, models, "
       "pack, "
       "profile, run, simulate, train, tune"},
      {"UnknownCommand",
       {"banch"},
       "\"banch\"; did you mean bench?; commands: bench, completion, edit"},
      {"HelpForAnUnknownCommand",
       {"help", "frobnicate"},
       "\"frobnicate\"; commands: bench, completion, edit"},
      {"MistypedFlag",
       {"train", "--bacth_size=8"},
       "--bacth_size; did you mean --batch_size?; see spillway train --help"},
      {"UnknownFlag", {"models", "--batch_size=3"}, "flag --batch_size"},
      {"UnknownFlagBesideAMissingOne", {"edit", "--grph", "x"}, "--grph"},
      {"UnknownWord",
       {"models", "all"},
       "unexpected argument \"all\"; see spillway models --help"},
      {"WordAfterAValue",
       {"bench", "--lms", "v1", "v2"},
       "unexpected argument \"v2\"; see spillway bench --help"},
      {"OneDash", {"models", "-x"}, "unexpected argument \"-x\""},
      {"TwoShells", {"completion", "bash", "zsh"}, "argument \"zsh\""},
      {"NoShell", {"completion"}, "shell is required; see spillway completion"},
      {"MissingFlag", {"edit"}, "--graph"},
      {"MissingValue", {"simulate", "--model"}, "--model: needs a value"},
      {"MissingValueBeforeAFlag", {"models", "--json", "--help"}, "--json"},
      {"EmptyValue", {"simulate", "--model=", "--json", "-"}, "--model"},
      {"FlagTwice",
       {"models", "--json", "-", "--json", "-"},
       "--json: is given 2 times; give it once"},
      {"BooleanFlagTwice",
       {"simulate", "--model", "lenet", "--lms", "v1", "--lms"},
       "--lms: is given 2 times; give it once"},
      {"NoGraphAtAll", {"inspect"}, "--model, --onnx and --graph"},
      {"ModelAndGraph",
       {"inspect", "--model", "lenet", "--graph", "x"},
       "--model excludes --graph; give one of the two"},
      {"BatchOfAFile",
       {"inspect", "--graph", "x", "--batch_size", "3"},
       "--batch_size requires --model"},
  };
}

std::vector<BadCommandLine> BadValues() {
  return {
      {"UnknownModel", {"simulate", "--model", "lenot"}, "lenet"},
      {"NotANumber",
       {"simulate", "--model", "lenet", "--batch_size", "8x"},
       "--batch_size"},
      {"NegativeBatch",
       {"simulate", "--model=lenet", "--batch_size=-1"},
       "--batch_size"},
      {"HugeBatch",
       {"simulate", "--model=lenet", "--batch_size=999999999999"},
       "--batch_size"},
      {"ImageTooSmall",
       {"simulate", "--model=lenet", "--image_size=3"},
       "lenet"},
      {"NoCapacity", {"pack", "--csv=x"}, "--capacity"},
      {"AlignmentOfZero",
       {"pack", "--csv=x", "--capacity=1", "--alignment=0"},
       "--alignment"},
      {"NegativeTimeLimit",
       {"pack", "--csv=x", "--capacity=1", "--time_limit=-1"},
       "--time_limit"},
      {"NotASize",
       {"simulate", "--model=lenet", "--device_memory", "lots"},
       "--device_memory"},
      {"NegativeSize",
       {"simulate", "--model=lenet", "--host_memory=-1"},
       "--host_memory"},
      {"UnknownDevice",
       {"simulate", "--model=lenet", "--device=gpu"},
       "--device"},
      {"LinkOfAGpu",
       {"run", "--graph=x", "--fetch=y", "--device=cuda", "--link_gbps=1"},
       "--"},
      {"GraphsOfTheCpu",
       {"bench", "--model=lenet", "--device=cpu", "--cuda_graph"},
       "--cuda_graph: the cpu device has no graphs"},
      {"PredictedGraphsOfTheCpu",
       {"simulate", "--model=lenet", "--device=cpu", "--cuda_graph"},
       "--cuda_graph: the cpu device has no graphs"},
      {"InfiniteRate",
       {"simulate", "--model=lenet", "--learning_rate", "inf"},
       "--learning_rate"},
      {"NoLossScale",
       {"simulate", "--model=lenet", "--loss_scale=0"},
       "--loss_scale: \"0\" is not a positive number"},
      {"NegativeLossScale",
       {"simulate", "--model=lenet", "--loss_scale=-2"},
       "--loss_scale: \"-2\" is not"},
      {"InfiniteLossScale",
       {"simulate", "--model=lenet", "--loss_scale=inf"},
       "--loss_scale: \"inf\" is not"},
      {"UnknownPass",
       {"simulate", "--model=lenet", "--passes=fuse_all"},
       "there is no pass 'fuse_all'; known: auto all none remove_dead_nodes"},
      {"UnknownOptimizer",
       {"simulate", "--model=lenet", "--optimizer=lion"},
       "--optimizer"},
      {"PrecisionOfAGpu",
       {"train", "--model=lenet", "--data=mnist", "--data_dir=/nowhere",
        "--precision=fp16", "--device=cpu"},
       "--precision: fp16 needs a GPU, --device cuda"},
      {"UnknownPrecision",
       {"simulate", "--model=lenet", "--precision=int8"},
       "\"int8\" is no precision; use fp32, tf32, bf16 or fp16"},
  };
}

std::vector<BadCommandLine> BadLms() {
  return {
      {"FlagOfTheSecondVersion",
       {"simulate", "--model=lenet", "--lms=v1", "--lms_swapin_ahead=2"},
       "--lms_swapin_ahead: is a flag of version 2, but --lms is v1"},
      {"FlagOfTheSecondVersionByDefault",
       {"edit", "--graph=x", "--lms_sync_mode=2"},
       "--lms_sync_mode: is a flag of version 2, but --lms is v1"},
      {"FlagOfTheFirstVersion",
       {"simulate", "--model=lenet", "--lms=v2", "--lms_lb=2"},
       "--lms_lb: is a flag of version 1, but --lms is v2"},
      {"ThresholdOfZero",
       {"edit", "--graph=x", "--lms=v2", "--lms_swapout_threshold=0"},
       "--lms_swapout_threshold: \"0\" is neither -1 (to be tuned) nor"},
      {"AheadOfMinusTwo",
       {"edit", "--graph=x", "--lms=v2", "--lms_swapin_ahead=-2"},
       "--lms_swapin_ahead: \"-2\" is neither -1"},
      {"GroupbyOfMinusTwo",
       {"edit", "--graph=x", "--lms=v2", "--lms_swapin_groupby=-2"},
       "--lms_swapin_groupby"},
      {"SyncModeOfFour",
       {"edit", "--graph=x", "--lms=v2", "--lms_sync_mode=4"},
       "--lms_sync_mode: \"4\" is not an integer from 0 to 3"},
      {"SerializationOfNegativeSize",
       {"edit", "--graph=x", "--lms=v2", "--lms_serialization_by_size=-1"},
       "--lms_serialization_by_size"},
      {"EmptyItemOfAList",
       {"edit", "--graph=x", "--lms_excl_scopes=a,,b"},
       "--lms_excl_scopes: \"a,,b\" has an empty item"},
      {"DebugLevelOfThree",
       {"edit", "--graph=x", "--lms_debug_level=3"},
       "--lms_debug_level: \"3\" is not an integer from 0 to 2"},
      {"NegativeBranchThreshold",
       {"edit", "--graph=x", "--lms_branch_threshold=-1"},
       "--lms_branch_threshold"},
      {"StartingScopeThatIsNot",
       {"simulate", "--model=lenet", "--lms=v1", "--lms_starting_scope=conv"},
       "the top-level scopes are: accuracy, conv1"},
      {"LmsOptionWithoutLms",
       {"simulate", "--model=lenet", "--lms_lb=2"},
       "--lms_lb requires --lms"},
      {"LmsOptionOutOfRange",
       {"simulate", "--model=lenet", "--lms=v1", "--lms_n_tensors=-2"},
       "--lms_n_tensors"},
      {"LmsBoundsCrossed",
       {"simulate", "--model=lenet", "--lms=v1", "--lms_lb=5", "--lms_ub=5"},
       "lms_ub"},
      {"LmsScopeThatIsNotThere",
       {"simulate", "--model=lenet", "--lms=v1",
        "--lms_optimizer_scopes=adam_optimizer"},
       "adam_optimizer"},
      {"UnknownStrategy",
       {"simulate", "--model=lenet", "--lms=v1", "--lms_ctrld_strategy=best"},
       "--lms_ctrld_strategy"},
      {"NeitherTrueNorFalse",
       {"simulate", "--model=lenet", "--lms=v1", "--lms_compat=yes"},
       "--lms_compat"},
  };
}

std::vector<BadCommandLine> BadFiles() {
  return {
      {"UnknownData", {"train", "--model=lenet", "--data=cifar10"}, "--data"},
      {"DataWithoutAFolder",
       {"train", "--model=lenet", "--data=mnist"},
       "--data_dir"},
      {"FolderThatIsNotThere",
       {"train", "--model=lenet", "--data=mnist", "--data_dir=/nowhere"},
       "/nowhere"},
      {"NoEpochs",
       {"train", "--model=lenet", "--data=mnist", "--num_epochs=0"},
       "--num_epochs"},
      {"GraphThatIsNotThere",
       {"edit", "--graph=/nowhere/graph.json"},
       "/nowhere/graph.json"},
      {"BuffersThatAreNotThere",
       {"pack", "--csv=/nowhere/buffers.csv", "--capacity=1"},
       "--csv: cannot read /nowhere/buffers.csv"},
      {"OffsetsInAMissingFolder",
       {"pack", "--csv=/dev/null", "--capacity=1", "--out=/nowhere/offsets"},
       "--out"},
      {"GraphThatIsAFolder", {"edit", "--graph=/"}, "/"},
      {"JsonInAMissingFolder",
       {"models", "--json=/nowhere/models.json"},
       "--json"},
      {"JsonThatIsAFolder", {"models", "--json=/tmp"}, "--json"},
  };
}

std::string NameOf(const ::testing::TestParamInfo<BadCommandLine>& instance) {
  return instance.param.name;
}

INSTANTIATE_TEST_SUITE_P(Usage, CommandLineTest,
                         ::testing::ValuesIn(BadUsage()), NameOf);
INSTANTIATE_TEST_SUITE_P(Values, CommandLineTest,
                         ::testing::ValuesIn(BadValues()), NameOf);
INSTANTIATE_TEST_SUITE_P(Lms, CommandLineTest, ::testing::ValuesIn(BadLms()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Files, CommandLineTest,
                         ::testing::ValuesIn(BadFiles()), NameOf);

// Outputs that cannot be written; found before any work is done.
class OutputTest : public ::testing::Test {
 protected:
  OutputTest() { testing::WriteTinyData(folder_.path()); }

  std::vector<std::string> Train(const std::string& flag,
                                 const std::string& path) const {
    return {"train",      "--model",      "mnist_deep",   "--data", "mnist",
            "--data_dir", folder_.path(), "--batch_size", "16",     flag,
            path};
  }

  testing::TemporaryFolder folder_;
};

TEST_F(OutputTest, AMissingFolderIsFoundBeforeTraining) {
  for (const char* flag : {"--checkpoint", "--trace", "--json"}) {
    const std::string path = folder_.File("missing/file");
    EXPECT_THAT(RunProgram(Train(flag, path)),
                Refuses(2, AllOf(HasSubstr(flag), HasSubstr(path))));
  }
}

TEST_F(OutputTest, AFolderWithoutPermissionIsFoundBeforeTraining) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  EXPECT_THAT(RunProgram(Train("--checkpoint", "/checkpoint")),
              Refuses(2, HasSubstr("--checkpoint")));
}

TEST_F(OutputTest, AFullDiskIsReported) {
  for (const char* flag : {"--checkpoint", "--trace", "--json"}) {
    const ProgramRun run = RunProgram(Train(flag, "/dev/full"));
    EXPECT_EQ(run.exit_status, 2) << flag;
    EXPECT_THAT(run.err, AllOf(HasSubstr(flag), HasSubstr("/dev/full")));
  }
}

TEST_F(OutputTest, AFullStandardOutputIsReported) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"models"},
                                             {"models", "--json", "-"},
                                             {"--help"},
                                             {"train", "--help"},
                                             {"inspect", "--model", "lenet"},
                                             Train("--seed", "1")}) {
    EXPECT_THAT(RunProgram(arguments, "/dev/full"),
                Refuses(2, HasSubstr("standard output")));
  }
}

TEST_F(OutputTest, AFailedRunLeavesTheOldFileAsItWas) {
  const std::string path = folder_.File("checkpoint");
  ASSERT_THAT(WriteFileAtomically(path, "precious"), IsOk());
  std::vector<std::string> arguments = Train("--checkpoint", path);
  arguments.insert(arguments.end(), {"--device_memory", "1MiB"});
  EXPECT_THAT(RunProgram(arguments), Refuses(3, HasSubstr("missing")));
  ASSERT_OK_AND_ASSIGN(const std::string content, ReadFile(path));
  EXPECT_EQ(content, "precious");
}

TEST_F(OutputTest, DamagedDataIsNamed) {
  ASSERT_THAT(WriteFileAtomically(folder_.File("t10k-labels-idx1-ubyte"),
                                  std::string_view("\0\0\10\1\0\0", 6)),
              IsOk());
  EXPECT_THAT(RunProgram(Train("--seed", "1")),
              Refuses(2, HasSubstr("t10k-labels-idx1-ubyte")));
}

TEST_F(OutputTest, ABatchLargerThanTheDataIsNamed) {
  std::vector<std::string> arguments = Train("--seed", "1");
  arguments[8] = "97";
  EXPECT_THAT(RunProgram(arguments), Refuses(2, HasSubstr("--batch_size")));
}

}  // namespace
}  // namespace spillway
