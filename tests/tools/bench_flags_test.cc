// The flags of `spillway bench`: those that it takes, their other names, and
// those that it refuses.
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunForJson;
using testing::RunProgram;
using testing::ToArguments;

TEST(BenchFlagsTest, TakesWhatHasOneMeaningHere) {
  const ProgramRun run =
      RunProgram(ToArguments("bench", {{"--model", "lenet"},
                                       {"--batch_size", "4"},
                                       {"--num_batches", "4"},
                                       {"--display_every", "5"},
                                       {"--threads", "1"},
                                       {"--device", "cpu"},
                                       {"--learning_rate", "1e-6"},
                                       {"--data_format", "NHWC"},
                                       {"--data_name", "imagenet"},
                                       {"--num_gpus", "1"},
                                       {"--variable_update", "replicated"},
                                       {"--local_parameter_device", "cpu"},
                                       {"--xla", "false"},
                                       {"--use_fp16", "False"},
                                       {"--eval", "false"},
                                       {"--xla_compile", "false"},
                                       {"--nodistortions", "true"},
                                       {"--summary_verbosity", "0"},
                                       {"--display_perf_ewma", "0.1"},
                                       {"--num_warmup_batches", "0"}}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("--variable_update replicated has no effect"));
  EXPECT_THAT(run.err, HasSubstr("--local_parameter_device cpu has no effect"));
  EXPECT_THAT(run.out, HasSubstr("Variables:   replicated\n"));
}

TEST(BenchFlagsTest, OtherNamesMeanTheSame) {
  const testing::TemporaryFolder folder;
  const std::string trace = folder.File("trace.json");
  const nlohmann::ordered_json json =
      RunForJson(ToArguments("bench", {{"--model", "lenet"},
                                       {"--batch_size", "4"},
                                       {"--num_batches", "1"},
                                       {"--num_warmup_batches", "0"},
                                       {"--device", "cpu"},
                                       {"--init_learning_rate", "0.5"},
                                       {"--num_intra_threads", "1"},
                                       {"--trace_file", trace}}));
  EXPECT_EQ(json["options"]["learning_rate"], 0.5);
  EXPECT_EQ(json["options"]["threads"], 1);
  EXPECT_THAT(ReadFile(trace), IsOk());
}

// A command line that must be refused, and text that the line must have.
struct BadBench {
  std::string name = {};  // of the test
  std::vector<std::string> flags = {};
  std::string message = {};
};

class BadBenchTest : public ::testing::TestWithParam<BadBench> {};

TEST_P(BadBenchTest, IsRefusedInOneLine) {
  std::vector<std::string> arguments = {"bench", "--model=lenet"};
  const std::vector<std::string>& flags = GetParam().flags;
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  EXPECT_THAT(RunProgram(arguments),
              Refuses(2, ContainsRegex(GetParam().message)));
}

std::vector<BadBench> BadBenches() {
  return {
      {"Epochs", {"--num_epochs=2"}, "--num_epochs.*--num_batches"},
      {"EpochsAndBatches",
       {"--num_epochs=2", "--num_batches=3"},
       "--num_batches excludes --num_epochs"},
      {"NoBatches", {"--num_batches=0"}, "--num_batches"},
      {"NegativeWarmUp", {"--num_warmup_batches=-1"}, "--num_warmup_batches"},
      {"NeverDisplay", {"--display_every=0"}, "--display_every"},
      {"WeightAboveOne", {"--display_perf_ewma=1.5"}, "--display_perf_ewma"},
      {"OptimizerOfAForwardStep",
       {"--forward_only", "--momentum=0.9"},
       "--forward_only excludes --momentum"},
      {"LmsOfAForwardStep",
       {"--forward_only", "--lms=v1"},
       "--forward_only excludes --lms"},
      {"RecomputationOfAForwardStep",
       {"--forward_only", "--lms_recompute=cheap"},
       "--forward_only excludes --lms_recompute"},
      {"UnknownRecomputation",
       {"--lms_recompute=all"},
       "--lms_recompute: \"all\" is not one of off, auto, cheap, sqrt"},
      {"ExclusionsOfNoRecomputation",
       {"--lms_recompute_excl_types=Relu"},
       "--lms_recompute_excl_types: requires --lms_recompute or --lms auto"},
      {"RecomputationOfAnUnknownScope",
       {"--lms_recompute=cheap", "--lms_recompute_excl_scopes=nowhere"},
       "--lms_recompute_excl_scopes: no node is in the scope nowhere; the "},
      {"RecomputationAsTflms",
       {"--lms_recompute=cheap", "--lms_compat=true"},
       "--lms_compat: excludes --lms_recompute"},
      {"ChannelsFirst",
       {"--data_format=NCHW"},
       "--data_format: \"NCHW\".*NHWC"},
      {"UnknownLayout", {"--data_format=NC"}, "--data_format"},
      {"TwoDevices", {"--num_gpus=2"}, "--num_gpus"},
      {"ManyDevices", {"--variable_update=horovod"}, "--variable_update"},
      {"ParameterDevice",
       {"--local_parameter_device=tpu"},
       "--local_parameter_device"},
      {"Xla", {"--xla"}, "--xla"},
      {"HalfPrecision",
       {"--use_fp16", "--device=cpu"},
       "--precision: fp16 needs a GPU, --device cuda"},
      {"HalfPrecisionByName",
       {"--precision=fp16", "--device=inline"},
       "--precision: fp16 needs a GPU, --device cuda"},
      {"XlaCompile",
       {"--xla_compile"},
       "--xla_compile: is not supported, since there is no XLA"},
      {"Distortions", {"--nodistortions=false"}, "--nodistortions"},
      {"Summaries", {"--summary_verbosity=1"}, "--summary_verbosity.*--report"},
      {"TrainFolder",
       {"--train_dir=x"},
       "--train_dir: is not supported; use --checkpoint"},
      {"TwoRates",
       {"--init_learning_rate=1", "--learning_rate=2"},
       "--learning_rate excludes --init_learning_rate"},
      {"TwoThreads",
       {"--num_intra_threads=1", "--threads=2"},
       "--threads excludes --num_intra_threads"},
      {"TwoTraces",
       {"--trace_file=a", "--trace=b"},
       "--trace excludes --trace_file"},
      {"TwoScales",
       {"--fp16_loss_scale=1", "--loss_scale=1"},
       "--loss_scale excludes --fp16_loss_scale"},
      {"RateOfAForwardStep",
       {"--forward_only", "--init_learning_rate=1"},
       "--forward_only excludes --init_learning_rate"},
      {"MemoryWithoutUnit",
       {"--device_memory=2.5"},
       "--device_memory: \"2.5\" has no unit; write 2.5GiB"},
      {"TooManyPercent", {"--device_memory=101%"}, "--device_memory: \"101%\""},
      {"NoPercent", {"--device_memory=0%"}, "--device_memory: \"0%\""},
      {"PercentOfNothing", {"--device_memory=%"}, "--device_memory: \"%\""},
      {"Evaluation", {"--eval"}, "--eval.*spillway train"},
      {"DataFolder", {"--data_dir=/data"}, "--data_dir.*spillway train"},
      {"OtherData", {"--data_name=librispeech"}, "--data_name"},
      {"UnknownImages", {"--synthetic=real"}, "--synthetic"},
      {"NoAuxiliaryHead", {"--auxiliary_head"}, "lenet has no auxiliary head"},
      {"TinyImages", {"--image_size=2"}, "--model: lenet"},
      {"TraceInAMissingFolder", {"--trace=/nowhere/trace.json"}, "--trace"},
      {"MissingProfile", {"--profile=/nowhere/x.json"}, "--profile: "},
  };
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadBenchTest, ::testing::ValuesIn(BadBenches()),
    [](const ::testing::TestParamInfo<BadBench>& instance) {
      return instance.param.name;
    });

}  // namespace
}  // namespace spillway
