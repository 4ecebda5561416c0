#include "training/checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::NewSession;
using testing::StatusIs;

// Steps of loss = mean(w * w) under Adam: w and three slots have state.
std::unique_ptr<Session> MakeSession(const std::string& variable,
                                     uint64_t seed) {
  GraphBuilder g(StandardOps());
  const Tensor w =
      AddVariable(g, {.name = variable,
                      .shape = {3, 5},
                      .initializer = Initializer::TruncatedNormal(1)});
  const Tensor squares = g.Add(g, {.op = "Mul", .inputs = {w, w}});
  const Tensor loss =
      g.Add(g, {.op = "Mean",
                .inputs = {squares},
                .attributes = {{"axes", std::vector<int64_t>{0, 1}}}});
  Minimize(g.Scope("adam"), loss, Adam());
  absl::StatusOr<Graph> graph = std::move(g).Build();
  EXPECT_THAT(graph, IsOk());
  auto session = NewSession({.graph = *std::move(graph)},
                            {.device = "inline", .seed = seed});
  EXPECT_THAT(session, IsOk());
  return *std::move(session);
}

std::string ChecksumOf(Session& session) {
  return Checksum(session.ReadVariables().value());
}

void RunSteps(Session& session, int times) {
  for (int i = 0; i < times; ++i) ASSERT_THAT(session.Step({}), IsOk());
}

TEST(CheckpointTest, TrainingGoesOnWhereItWasSaved) {
  const std::string path = ::testing::TempDir() + "/goes_on.safetensors";
  const auto first = MakeSession("w", 1);
  RunSteps(*first, 3);
  ASSERT_THAT(SaveCheckpoint(*first, path), IsOk());
  RunSteps(*first, 3);

  const auto second = MakeSession("w", 2);
  EXPECT_NE(ChecksumOf(*first), ChecksumOf(*second));
  ASSERT_THAT(LoadCheckpoint(path, *second), IsOk());
  RunSteps(*second, 3);
  EXPECT_EQ(ChecksumOf(*first), ChecksumOf(*second));
}

// loss = mean(dropout(w) * w) under Adam, and an evaluation with dropout too.
std::unique_ptr<Session> MakeDropoutSession(bool has_evaluation = true) {
  const auto drop = [](GraphBuilder& g) {
    const Tensor w =
        AddVariable(g, {.name = "w",
                        .shape = {8, 64},
                        .initializer = Initializer::TruncatedNormal(1)});
    return std::pair(w, Dropout(g.Scope("dropout"), w, {.rate = 0.5}));
  };
  GraphBuilder g(StandardOps());
  const auto [w, dropped] = drop(g);
  const Tensor products = g.Add(g, {.op = "Mul", .inputs = {w, dropped}});
  const Tensor loss =
      g.Add(g, {.op = "Mean",
                .inputs = {products},
                .attributes = {{"axes", std::vector<int64_t>{0, 1}}}});
  Minimize(g.Scope("adam"), loss, Adam());
  std::vector<Program> programs;
  programs.push_back({.graph = std::move(g).Build().value()});
  if (has_evaluation) {
    GraphBuilder evaluation(StandardOps(), "evaluation");
    const Tensor fetched = drop(evaluation).second;
    programs.push_back({.graph = std::move(evaluation).Build().value(),
                        .fetches = {fetched.id()}});
  }
  return NewSession(std::move(programs), {.device = "inline", .seed = 7})
      .value();
}

// The bytes of the only fetch.
std::vector<std::byte> Evaluate(Session& session) {
  return session.Step(1, {}).value().fetched.begin()->second.bytes;
}

TEST(CheckpointTest, DropoutGoesOnWhereItWasSaved) {
  const std::string path = ::testing::TempDir() + "/dropout.safetensors";
  const auto first = MakeDropoutSession();
  RunSteps(*first, 3);
  const std::vector<std::byte> first_evaluation = Evaluate(*first);
  ASSERT_THAT(SaveCheckpoint(*first, path), IsOk());
  RunSteps(*first, 2);
  const std::vector<std::byte> second_evaluation = Evaluate(*first);

  const auto second = MakeDropoutSession();
  ASSERT_THAT(LoadCheckpoint(path, *second), IsOk());
  EXPECT_EQ(second->step_numbers(), (std::vector<int64_t>{3, 1}));
  RunSteps(*second, 2);
  EXPECT_EQ(ChecksumOf(*first), ChecksumOf(*second));
  EXPECT_EQ(Evaluate(*second), second_evaluation);

  // Without the step numbers, training and evaluation would differ.
  const auto third = MakeDropoutSession();
  ASSERT_THAT(LoadCheckpoint(path, *third), IsOk());
  ASSERT_THAT(third->SetStepNumbers({0, 0}), IsOk());
  EXPECT_EQ(Evaluate(*third), first_evaluation);
  RunSteps(*third, 2);
  EXPECT_NE(ChecksumOf(*third), ChecksumOf(*first));
}

TEST(CheckpointTest, StepNumbersAreMetadataThatOthersCanRead) {
  const std::string path = ::testing::TempDir() + "/numbers.safetensors";
  const auto session = MakeDropoutSession();
  RunSteps(*session, 2);
  ASSERT_THAT(SaveCheckpoint(*session, path), IsOk());
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, ReadSafetensorsFile(path));
  EXPECT_EQ(file.metadata, (Metadata{{"spillway.step_numbers", "[2, 0]"}}));
  EXPECT_EQ(file.tensors.size(), session->variable_types().size());
}

TEST(CheckpointTest, ProgramsWithoutAStepNumberInTheFileHaveNone) {
  const std::string path = ::testing::TempDir() + "/old.safetensors";
  const auto session = MakeDropoutSession();
  RunSteps(*session, 2);
  ASSERT_OK_AND_ASSIGN(const TensorMap variables, session->ReadVariables());
  // The format of versions before step numbers.
  ASSERT_THAT(WriteSafetensors(path, variables), IsOk());
  ASSERT_THAT(LoadCheckpoint(path, *session), IsOk());
  EXPECT_EQ(session->step_numbers(), (std::vector<int64_t>{0, 0}));
  // From a session with fewer programs, and from one with more.
  const auto alone = MakeDropoutSession(/*has_evaluation=*/false);
  RunSteps(*alone, 4);
  ASSERT_THAT(SaveCheckpoint(*alone, path), IsOk());
  ASSERT_THAT(LoadCheckpoint(path, *session), IsOk());
  EXPECT_EQ(session->step_numbers(), (std::vector<int64_t>{4, 0}));
  ASSERT_THAT(SaveCheckpoint(*session, path), IsOk());
  ASSERT_THAT(LoadCheckpoint(path, *alone), IsOk());
  EXPECT_EQ(alone->step_numbers(), (std::vector<int64_t>{4}));
}

TEST(CheckpointTest, RefusesStepNumbersThatAreNoneAndChangesNothing) {
  const std::string path = ::testing::TempDir() + "/bad_numbers.safetensors";
  const auto session = MakeDropoutSession();
  ASSERT_OK_AND_ASSIGN(TensorMap variables, session->ReadVariables());
  const std::string before = ChecksumOf(*session);
  std::ranges::fill(variables.at("w").bytes, std::byte{1});
  for (const char* text : {"", "7", "[-1, 0]", "[1.5]", "{}", "[1,",
                           "[9223372036854775807]", "[\"1\"]"}) {
    SCOPED_TRACE(text);
    ASSERT_THAT(
        WriteSafetensors(path, variables, {{"spillway.step_numbers", text}}),
        IsOk());
    EXPECT_THAT(LoadCheckpoint(path, *session),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(path), HasSubstr("step_numbers"))));
    EXPECT_EQ(ChecksumOf(*session), before);
  }
}

TEST(CheckpointTest, HoldsTheOptimizersSlots) {
  const std::string path = ::testing::TempDir() + "/slots.safetensors";
  const auto session = MakeSession("w", 1);
  ASSERT_THAT(SaveCheckpoint(*session, path), IsOk());
  ASSERT_OK_AND_ASSIGN(const TensorMap tensors, ReadSafetensors(path));
  EXPECT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors.at("w").type, tensors.at("adam/slots/w/m").type);
}

TEST(CheckpointTest, RefusesAnotherModelAndChangesNothing) {
  const std::string path = ::testing::TempDir() + "/other.safetensors";
  ASSERT_THAT(SaveCheckpoint(*MakeSession("v", 1), path), IsOk());
  const auto session = MakeSession("w", 2);
  const std::string before = ChecksumOf(*session);
  EXPECT_THAT(LoadCheckpoint(path, *session),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path), HasSubstr("variable"))));
  EXPECT_EQ(ChecksumOf(*session), before);
}

TEST(CheckpointTest, RefusesATensorTooMany) {
  const std::string path = ::testing::TempDir() + "/more.safetensors";
  const auto session = MakeSession("w", 1);
  ASSERT_OK_AND_ASSIGN(TensorMap tensors, session->ReadVariables());
  tensors["stranger"] = tensors.at("w");
  ASSERT_THAT(WriteSafetensors(path, tensors), IsOk());
  EXPECT_THAT(LoadCheckpoint(path, *session),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path), HasSubstr("stranger"))));
}

TEST(CheckpointTest, HoldsWhatOtherRanksHave) {
  const std::string path = ::testing::TempDir() + "/ranks.safetensors";
  const auto session = MakeSession("w", 1);
  ASSERT_OK_AND_ASSIGN(const TensorMap own, session->ReadVariables());
  TrainingState state = {.updates = 3, .rows = "some rows"};
  for (const uint64_t seed : {2, 3}) {
    const auto other = MakeSession("w", seed);
    ASSERT_OK_AND_ASSIGN(const TensorMap variables, other->ReadVariables());
    state.other_ranks.push_back({{"w", variables.at("w")}});
  }
  ASSERT_THAT(SaveCheckpoint(*session, path, state), IsOk());
  const auto loaded = MakeSession("w", 4);
  ASSERT_OK_AND_ASSIGN(const auto read, LoadCheckpoint(path, *loaded));
  EXPECT_EQ(read, state);
  EXPECT_EQ(ChecksumOf(*loaded), Checksum(own));
  const auto restored = MakeSession("w", 5);
  ASSERT_THAT(LoadVariables(path, *restored), IsOk());
  EXPECT_EQ(ChecksumOf(*restored), Checksum(own));
}

TEST(CheckpointTest, RefusesOtherRanksThatDoNotFit) {
  const std::string path = ::testing::TempDir() + "/bad_ranks.safetensors";
  const auto session = MakeSession("w", 1);
  ASSERT_OK_AND_ASSIGN(const TensorMap own, session->ReadVariables());
  const HostTensor& w = own.at("w");
  struct Bad {
    std::string name;
    std::string error;
  };
  for (const Bad& bad :
       {Bad{"spillway.rank_2/w", "rank 1 lacks variables"},
        Bad{"spillway.rank_0/w", "comes a rank from 1 on"},
        Bad{"spillway.rank_x/w", "comes a rank from 1 on"},
        Bad{"spillway.rank_1", "comes a rank from 1 on"},
        Bad{"spillway.rank_1/v",
            "there is no variable v of type float32[3, 5]"},
        Bad{"spillway.rank_1/adam/slots/w/beta_power",
            "there is no variable adam/slots/w/beta_power of type"}}) {
    TensorMap tensors = own;
    tensors[bad.name] = w;
    ASSERT_THAT(WriteSafetensors(path, tensors), IsOk());
    EXPECT_THAT(LoadCheckpoint(path, *session),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(path), HasSubstr(bad.error))));
    EXPECT_EQ(ChecksumOf(*session), Checksum(own));
  }
}

TEST(CheckpointTest, AnOlderFileSurvivesAFailedWrite) {
  const auto session = MakeSession("w", 1);
  const std::string folder = ::testing::TempDir() + "/no_such_folder";
  EXPECT_THAT(SaveCheckpoint(*session, folder + "/c.safetensors"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder)));
}

}  // namespace
}  // namespace spillway
