#include "training/checkpoint.h"

#include <string>
#include <utility>

#include "base/file.h"
#include "gtest/gtest.h"
#include "models/layers.h"
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

// Steps of loss = mean(w * w) under Adam: state in w and in three slots.
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

void Step(Session& session, int times) {
  for (int i = 0; i < times; ++i) ASSERT_THAT(session.Step({}), IsOk());
}

TEST(CheckpointTest, TrainingGoesOnWhereItWasSaved) {
  const std::string path = ::testing::TempDir() + "/goes_on.safetensors";
  const auto first = MakeSession("w", 1);
  Step(*first, 3);
  ASSERT_THAT(SaveCheckpoint(*first, path), IsOk());
  Step(*first, 3);

  const auto second = MakeSession("w", 2);
  EXPECT_NE(ChecksumOf(*first), ChecksumOf(*second));
  ASSERT_THAT(LoadCheckpoint(path, *second), IsOk());
  Step(*second, 3);
  EXPECT_EQ(ChecksumOf(*first), ChecksumOf(*second));
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

TEST(CheckpointTest, AnOlderFileSurvivesAFailedWrite) {
  const auto session = MakeSession("w", 1);
  const std::string folder = ::testing::TempDir() + "/no_such_folder";
  EXPECT_THAT(SaveCheckpoint(*session, folder + "/c.safetensors"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder)));
}

}  // namespace
}  // namespace spillway
