// What the ranks of a run exchange: --reduce.
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/tools/launched_training.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::ContainsRegex;
using testing::FlagValues;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramRun;
using testing::With;
using Json = nlohmann::ordered_json;

using ExchangeTest = testing::LaunchedTraining;

TEST_F(ExchangeTest, HalfSendsHalfTheBytes) {
  const Json plain = LaunchForJson(2, {});
  const Json half = LaunchForJson(
      2, {{"--reduce", "half"}, {"--wire_scale", "4"}, {"--clip_wire", "50"}});
  EXPECT_EQ(half["ranks"][0]["checksum"], half["ranks"][1]["checksum"]);
  EXPECT_NE(half["checksum"], plain["checksum"]);
  ExpectLossesNear(half, plain, 0.01);
  int64_t gradients = 0;
  for (const Json& bytes : plain["comm"]["buckets"]) {
    gradients += bytes.get<int64_t>();
  }
  const int64_t updates = plain["steps_done"];
  EXPECT_EQ(half["comm"]["bytes"].get<int64_t>(),
            plain["comm"]["bytes"].get<int64_t>() - updates * gradients / 2);
}

TEST_F(ExchangeTest, FlagsThatDoNotFitAreRefused) {
  ExpectRefused({
      {{{"--reduce", "third"}}, "--reduce"},
      {{{"--wire", "bf16"}}, "--wire: applies to --reduce half"},
      {{{"--wire_scale", "2"}}, "--wire_scale: applies to --reduce"},
      {{{"--reduce", "half"}, {"--wire", "int8"}},
       "--wire: \"int8\" is not one of fp16, bf16"},
      {{{"--reduce", "half"}, {"--wire_scale", "3"}},
       "--wire_scale: 3 is not a power of two"},
      {{{"--clip_wire", "0"}}, "--clip_wire"},
      {{{"--reduce", "sparse"}, {"--clip_wire", "1"}},
       "--clip_wire: applies to --reduce plain and half"},
      {{{"--spars", "0.1"}}, "--spars: applies to --reduce sparse"},
      {{{"--reduce", "sparse"}, {"--spars", "0"}}, "--spars"},
      {{{"--reduce", "sparse"}, {"--topk", "true"}, {"--spars", "2"}},
       "--spars: 2 is not a part of the elements"},
      {{{"--corr", "false"}}, "--corr: applies to --reduce sparse"},
      {{{"--sync_momentum", "true"}},
       "--sync_momentum: applies to --reduce partial"},
      {{{"--reduce", "sparse"}, {"--full_sync_every", "3"}},
       "--full_sync_every: applies to --reduce partial"},
      {{{"--reduce", "partial"}, {"--check_replicas", "1"}},
       "--check_replicas: with --reduce partial"},
  });
}

// The largest elements, or all of them; a rank sends pairs of 8 bytes.
TEST_F(ExchangeTest, SparseSendsAPartOfTheElements) {
  const Json plain = LaunchForJson(2, {});
  const FlagValues top = {{"--reduce", "sparse"}, {"--topk", "true"}};
  const Json all = LaunchForJson(2, With(top, {{"--spars", "1"}}));
  EXPECT_EQ(all["losses"], plain["losses"]);
  const Json few = LaunchForJson(2, With(top, {{"--spars", "0.01"}}));
  int64_t gradients = 0;
  for (const Json& bytes : plain["comm"]["buckets"]) {
    gradients += bytes.get<int64_t>();
  }
  const int64_t updates = plain["steps_done"];
  EXPECT_NEAR(
      all["comm"]["bytes"].get<double>() - few["comm"]["bytes"].get<double>(),
      0.99 * 2 * static_cast<double>(updates * gradients),
      0.001 * static_cast<double>(updates * gradients));
  ExpectLossesNear(few, plain, 0.5);
  // Their residuals differ.
  EXPECT_NE(few["ranks"][0]["checksum"], few["ranks"][1]["checksum"]);
  const Json lost =
      LaunchForJson(2, With(top, {{"--spars", "0.01"}, {"--corr", "false"}}));
  EXPECT_EQ(lost["ranks"][0]["checksum"], lost["ranks"][1]["checksum"]);
  EXPECT_NE(lost["losses"], few["losses"]);
}

TEST_F(ExchangeTest, WarnsWhereSparseMovesMoreThanPlain) {
  const FlagValues top = {{"--reduce", "sparse"}, {"--topk", "true"}};
  EXPECT_THAT(Launch(2, Flags(With(top, {{"--spars", "0.1"}}))).err,
              Not(HasSubstr("--spars")));
  EXPECT_THAT(Launch(2, Flags(With(top, {{"--spars", "0.6"}}))).err,
              HasSubstr("--spars: 2 ranks that each send 0.6 of the elements"));
  // A magnitude says so at the end.
  FlagValues flags = Flags({{"--reduce", "sparse"}, {"--spars", "0.00000001"}});
  flags.erase("--json");
  const ProgramRun run = Launch(2, flags);
  EXPECT_THAT(run.out,
              ContainsRegex("all-reduces? an update, of [5-9].\\.. %"));
  EXPECT_THAT(run.out, HasSubstr("more bytes than --reduce plain"));
}

TEST_F(ExchangeTest, PartialAveragesInTurn) {
  const FlagValues partial = {{"--reduce", "partial"}, {"--optimizer", "sgd"}};
  const Json in_turn = LaunchForJson(2, partial);
  EXPECT_NE(in_turn["ranks"][0]["checksum"], in_turn["ranks"][1]["checksum"]);
  const Json full =
      LaunchForJson(2, With(partial, {{"--full_sync_every", "1"}}));
  EXPECT_EQ(full["ranks"][0]["checksum"], full["ranks"][1]["checksum"]);
  const Json plain = LaunchForJson(2, {{"--optimizer", "sgd"}});
  ExpectLossesNear(full, plain, 1e-4);
}

// What each rank has of its own is in the checkpoint of rank 0.
TEST_F(ExchangeTest, AResumedTrainingIsTheUninterruptedOne) {
  for (const FlagValues& way :
       {FlagValues{{"--reduce", "sparse"}, {"--spars", "0.001"}},
        FlagValues{{"--reduce", "sparse"},
                   {"--spars", "0.001"},
                   {"--train_algo", "looped_minibatch"},
                   {"--parallel_batches", "2"}},
        FlagValues{{"--reduce", "partial"}, {"--sync_momentum", "true"}}}) {
    SCOPED_TRACE(::testing::PrintToString(way));
    const Json whole = LaunchForJson(2, way);
    LaunchForJson(2, With(way, {{"--num_steps", "4"},
                                {"--checkpoint", Path("state")},
                                {"--checkpoint_every", "2"}}));
    const Json rest =
        LaunchForJson(2, With(way, {{"--resume", Path("state")}}));
    EXPECT_EQ(rest["steps_done"], 3);
    for (const size_t rank : {0, 1}) {
      EXPECT_EQ(rest["ranks"][rank]["checksum"],
                whole["ranks"][rank]["checksum"]);
    }
  }
}

}  // namespace
}  // namespace spillway
