// Ranks that exchange less than all of their gradients: sparse ones, and
// variables that are averaged in turn. As threads.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "tests/training/workers/rank_training.h"
#include "training/checkpoint.h"
#include "training/workers/average_in_turn.h"
#include "training/workers/synchronize.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RankResult;
using testing::RanksCase;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TrainAlone;
using testing::TrainRanks;
using Code = absl::StatusCode;
using Results = std::vector<absl::StatusOr<RankResult>>;

void ExpectNear(const std::vector<double>& losses,
                const std::vector<double>& expected, double tolerance) {
  ASSERT_THAT(losses, SizeIs(expected.size()));
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], tolerance) << i;
  }
}

// The variables of `rank` that are not of the same bytes as rank 0's.
std::set<std::string> Differing(const Results& ranks, size_t rank) {
  std::set<std::string> names;
  for (const auto& [name, value] : ranks[rank]->variables) {
    if (value != ranks[0]->variables.at(name)) names.insert(name);
  }
  return names;
}

bool IsResidual(const std::string& name) { return name.ends_with("/residual"); }

TEST(SparseTrainingTest, AllElementsAreThePlainWayBitForBit) {
  for (const int64_t parallel_batches : {1, 2}) {
    SCOPED_TRACE(parallel_batches);
    RanksCase test = {.rows = {.rows = 64, .batch_size = 4}};
    if (parallel_batches > 1) {
      test.rows.algorithm = TrainAlgorithm::kLoopedMinibatch;
      test.rows.parallel_batches = parallel_batches;
    }
    const Results plain = TrainRanks(test, 3);
    for (const SparseGradients& all :
         {SparseGradients{.topk_fraction = 1},
          SparseGradients{.topk_fraction = 1, .keeps_residuals = false},
          SparseGradients{.min_magnitude = 1e-38}}) {
      test.sparse = all;
      for (const auto& rank : TrainRanks(test, 3)) {
        ASSERT_THAT(rank, IsOk());
        ASSERT_THAT(plain[0], IsOk());
        EXPECT_EQ(rank->losses, plain[0]->losses);
        for (const auto& [name, value] : plain[0]->variables) {
          EXPECT_EQ(rank->variables.at(name), value) << name;
        }
      }
    }
  }
}

TEST(SparseTrainingTest, RanksStayTheSameButForTheirResiduals) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4}, .updates = 40};
  test.change = [](int, TrainerSpec& spec) { spec.check_replicas = 1; };
  ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(test, 3));
  for (const SparseGradients& sparse :
       {SparseGradients{.topk_fraction = 0.1},
        SparseGradients{.min_magnitude = 0.05}}) {
    test.sparse = sparse;
    const Results ranks = TrainRanks(test, 3);
    for (size_t rank = 0; rank < 3; ++rank) {
      ASSERT_THAT(ranks[rank], IsOk());
      EXPECT_EQ(ranks[rank]->losses, ranks[0]->losses);
      EXPECT_EQ(ranks[rank]->memory.measured_device_bytes,
                ranks[rank]->memory.predicted_device_bytes);
    }
    const std::set<std::string> differing = Differing(ranks, 1);
    EXPECT_FALSE(differing.empty());
    EXPECT_TRUE(std::ranges::all_of(differing, IsResidual));
    EXPECT_NE(ranks[0]->losses, alone.losses);
    EXPECT_NEAR(ranks[0]->losses.back(), alone.losses.back(), 0.2);
  }
}

// A magnitude is that of the mean over the rank's rows, of one micro-batch or
// two of half the rows.
TEST(SparseTrainingTest, SumsOfMicroBatchesHaveTheSameMagnitudes) {
  RanksCase whole = {.rows = {.rows = 64, .batch_size = 8}};
  whole.sparse = {.min_magnitude = 0.02};
  RanksCase halves = whole;
  halves.rows = {.algorithm = TrainAlgorithm::kLoopedMinibatch,
                 .rows = 64,
                 .batch_size = 4,
                 .parallel_batches = 2};
  const Results expected = TrainRanks(whole, 2);
  const Results ranks = TrainRanks(halves, 2);
  ASSERT_THAT(expected[0], IsOk());
  ASSERT_THAT(ranks[0], IsOk());
  ExpectNear(ranks[0]->losses, expected[0]->losses, 1e-3);
}

// Averages of variables after plain steps of gradient descent are steps by the
// average gradient.
TEST(PartialTrainingTest, AllPartsInEachUpdateAreThePlainWay) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4},
                    .optimizer = Sgd{.learning_rate = 0.05},
                    .updates = 10};
  ASSERT_OK_AND_ASSIGN(const RankResult alone, TrainAlone(test, 3));
  test.partial = {.full_every = 1};
  const Results ranks = TrainRanks(test, 3);
  ASSERT_THAT(ranks[0], IsOk());
  ExpectNear(ranks[0]->losses, alone.losses, 1e-5);
  EXPECT_EQ(ranks[0]->checksum, ranks[1]->checksum);
  EXPECT_EQ(ranks[0]->checksum, ranks[2]->checksum);
}

TEST(PartialTrainingTest, OnePartIsAveragedInEachTurn) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4},
                    .buckets = {.elements = 1}};  // each variable is a part
  test.partial.emplace();
  std::map<int64_t, std::set<std::string>> same;  // by turn
  for (int64_t updates = 1; updates <= 4; ++updates) {
    test.updates = updates;
    const Results ranks = TrainRanks(test, 2);
    ASSERT_THAT(ranks[0], IsOk());
    ASSERT_THAT(ranks[1], IsOk());
    const std::set<std::string> differing = Differing(ranks, 1);
    for (const char* name : {"hidden/weights", "hidden/biases",
                             "logits/weights", "logits/biases"}) {
      if (!differing.contains(name)) same[updates].insert(name);
    }
    EXPECT_THAT(same[updates], SizeIs(1)) << updates;
    EXPECT_EQ(ranks[0]->memory.measured_device_bytes,
              ranks[0]->memory.predicted_device_bytes);
  }
  std::set<std::string> all;
  for (const auto& [turn, names] : same) all.insert(names.begin(), names.end());
  EXPECT_THAT(all, SizeIs(4));  // in four turns, all of them
}

TEST(PartialTrainingTest, SlotsAreAveragedIfAskedFor) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4}};
  for (const bool averages_slots : {false, true}) {
    test.partial = {.averages_slots = averages_slots, .full_every = 5};
    const Results ranks = TrainRanks(test, 2);  // five updates
    ASSERT_THAT(ranks[0], IsOk());
    ASSERT_THAT(ranks[1], IsOk());
    EXPECT_EQ(Differing(ranks, 1).empty(), averages_slots);
    for (const std::string& name : Differing(ranks, 1)) {
      EXPECT_THAT(name, HasSubstr("/momentum"));
    }
  }
}

TEST(AveragingTurnsTest, GoRoundTheParts) {
  const AveragingTurns turns = {.parts = 3};
  std::vector<int32_t> first;
  for (int64_t update = 0; update < 5; ++update) {
    first.push_back(turns.TurnOf(update));
  }
  EXPECT_THAT(first, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_EQ((AveragingTurns{.parts = 3, .full_every = 4}.TurnOf(3)), -1);
}

// A way of exchange whose ranks have variables of their own.
struct OwnVariables {
  std::string name = {};
  std::optional<SparseGradients> sparse = {};
  std::optional<PartialUpdates> partial = {};
};

const OwnVariables kOwnVariables[] = {
    {.name = "sparse", .sparse = {{.topk_fraction = 0.1}}},
    {.name = "partial", .partial = {{.full_every = 7}}}};

// Saves at the end of the first run, if there is no file; starts from it.
void Resume(const std::string& path, RanksCase& test) {
  test.prepare = [path](Communicator& communicator, Session& session,
                        TrainerSpec& spec) -> absl::Status {
    TrainingState state;
    if (communicator.rank() == 0) {
      const auto loaded = LoadCheckpoint(path, session);
      if (loaded.ok()) state = **loaded;
      spec.on_checkpoint = [&session, path](const TrainingState& at) {
        return SaveCheckpoint(session, path, at);
      };
    }
    SPILLWAY_ASSIGN_OR_RETURN(spec.start, BroadcastState(state, communicator));
    spec.checkpoint_updates = *spec.length.updates;
    return absl::OkStatus();
  };
}

TEST(OwnVariablesTest, AResumedTrainingIsTheUninterruptedOne) {
  const testing::TemporaryFolder folder;
  for (const OwnVariables& way : kOwnVariables) {
    SCOPED_TRACE(way.name);
    RanksCase test = {.rows = {.rows = 64, .batch_size = 4}, .updates = 9};
    test.sparse = way.sparse;
    test.partial = way.partial;
    const Results whole = TrainRanks(test, 3);
    Resume(folder.File(way.name + ".safetensors"), test);
    test.updates = 4;
    for (const auto& rank : TrainRanks(test, 3)) ASSERT_THAT(rank, IsOk());
    test.updates = 9;
    const Results resumed = TrainRanks(test, 3);
    for (size_t rank = 0; rank < 3; ++rank) {
      ASSERT_THAT(whole[rank], IsOk());
      ASSERT_THAT(resumed[rank], IsOk());
      EXPECT_EQ(resumed[rank]->checksum, whole[rank]->checksum);
    }
    EXPECT_NE(whole[0]->checksum, whole[1]->checksum);
  }
}

// Another number of ranks takes up the mean.
TEST(OwnVariablesTest, FewerOrMoreRanksMayGoOn) {
  const testing::TemporaryFolder folder;
  for (const OwnVariables& way : kOwnVariables) {
    SCOPED_TRACE(way.name);
    const std::string path = folder.File(way.name + ".safetensors");
    RanksCase test = {.rows = {.rows = 64, .batch_size = 4}, .updates = 4};
    test.sparse = way.sparse;
    test.partial = way.partial;
    Resume(path, test);
    const Results first = TrainRanks(test, 3);
    for (const auto& rank : first) ASSERT_THAT(rank, IsOk());
    test.change = [](int, TrainerSpec& spec) {
      spec.shuffle = false;  // so that it may read its rows in another way
    };
    test.prepare = [path](Communicator& communicator, Session& session,
                          TrainerSpec& spec) -> absl::Status {
      TrainingState state;
      if (communicator.rank() == 0) {
        SPILLWAY_ASSIGN_OR_RETURN(const auto loaded,
                                  LoadCheckpoint(path, session));
        state.other_ranks = loaded->other_ranks;
      }
      SPILLWAY_ASSIGN_OR_RETURN(spec.start,
                                BroadcastState(state, communicator));
      spec.max_steps = 0;
      return absl::OkStatus();
    };
    for (const int ranks : {2, 4}) {
      const Results rest = TrainRanks(test, ranks);
      for (const auto& rank : rest) {
        ASSERT_THAT(rank, IsOk());
        for (const auto& [name, value] : first[0]->variables) {
          double mean = 0;
          for (const auto& each : first) {
            mean += each->variables.at(name).data<float>()[0] / 3.0;
          }
          EXPECT_NEAR(rank->variables.at(name).data<float>()[0], mean, 1e-6)
              << name;
        }
      }
    }
  }
}

TEST(ExchangeTest, WaysThatExcludeEachOtherAreRefused) {
  RanksCase test = {.rows = {.rows = 64, .batch_size = 4}};
  test.sparse.emplace();
  test.partial.emplace();
  EXPECT_THAT(TrainRanks(test, 2)[0],
              StatusIs(Code::kInvalidArgument, HasSubstr("one of these")));
}

}  // namespace
}  // namespace spillway
