#include "training/loop/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

MicroBatchPlan PlanFor(const MicroBatchSpec& spec) {
  return MicroBatchPlan::Create(spec).value();
}

// The rows of update after update, counted from 1 and inclusive, as SystemML's
// documents have them: "1-4 5-8".
std::string Windows(const MicroBatchPlan& plan, int64_t updates) {
  std::vector<std::string> windows;
  for (int64_t u = 0; u < updates; ++u) {
    const std::vector<MicroBatch> batches = plan.Update(u);
    windows.push_back(
        fmt::format("{}-{}", batches.front().begin + 1, batches.back().end));
  }
  return fmt::format("{}", fmt::join(windows, " "));
}

std::vector<double> Weights(const MicroBatchPlan& plan, int64_t update) {
  std::vector<double> weights;
  for (const MicroBatch& batch : plan.Update(update)) {
    weights.push_back(batch.weight);
  }
  return weights;
}

TEST(MicroBatchPlanTest, TheLastBatchOfAnEpochIsShort) {
  const MicroBatchPlan plan = PlanFor({.rows = 10, .batch_size = 4});
  EXPECT_EQ(Windows(plan, 5), "1-4 5-8 9-10 1-4 5-8");
  EXPECT_EQ(plan.UpdatesPerEpoch(), 3);
  EXPECT_EQ(plan.EpochOf(2), 0);
  EXPECT_EQ(plan.EpochOf(3), 1);
  EXPECT_THAT(plan.Sizes(), ElementsAre(4, 2));
  EXPECT_THAT(Weights(plan, 2), ElementsAre(1));
}

// SystemML's window vectors.
TEST(MicroBatchPlanTest, DriftTakesTheBeginModuloTheRows) {
  const MicroBatchPlan plan =
      PlanFor({.rows = 10, .batch_size = 4, .tail = Tail::kDrift});
  EXPECT_EQ(Windows(plan, 8), "1-4 5-8 9-10 3-6 7-10 1-4 5-8 9-10");
  EXPECT_EQ(plan.EpochOf(3), 1);
  EXPECT_THAT(plan.Sizes(), ElementsAre(4, 2));
}

TEST(MicroBatchPlanTest, WrapBeginsAgainWhereAGroupIsIncomplete) {
  const auto begins = [](int64_t rows, int64_t batch, int64_t parallel,
                         int64_t max_iter) {
    const MicroBatchPlan plan =
        PlanFor({.algorithm = TrainAlgorithm::kLoopedMinibatch,
                 .rows = rows,
                 .batch_size = batch,
                 .parallel_batches = parallel,
                 .tail = Tail::kWrap});
    std::vector<int64_t> found;
    const int64_t updates = plan.Updates({.micro_batches = max_iter}).value();
    for (int64_t u = 0; u < updates; ++u) {
      const std::vector<MicroBatch> batches = plan.Update(u);
      EXPECT_EQ(std::ssize(batches), parallel);
      found.push_back(batches.front().begin + 1);
    }
    return found;
  };
  EXPECT_THAT(begins(10, 2, 2, 10), ElementsAre(1, 5, 1, 3, 7));
  EXPECT_THAT(begins(11, 3, 2, 8), ElementsAre(1, 1, 2, 1));
  EXPECT_THAT(begins(12, 2, 3, 12), ElementsAre(1, 7, 1, 7));
}

TEST(MicroBatchPlanTest, WeightsAreThePartsOfTheRows) {
  const MicroBatchSpec spec = {.algorithm = TrainAlgorithm::kLoopedMinibatch,
                               .rows = 10,
                               .batch_size = 4,
                               .parallel_batches = 3};
  EXPECT_THAT(Weights(PlanFor(spec), 0), ElementsAre(0.4, 0.4, 0.2));
  MicroBatchSpec summed = spec;
  summed.weighted = false;
  EXPECT_THAT(Weights(PlanFor(summed), 0), ElementsAre(1, 1, 1));
}

TEST(MicroBatchPlanTest, CountsUpdatesAsSystemMlCountsIterations) {
  const MicroBatchPlan wrap =
      PlanFor({.algorithm = TrainAlgorithm::kLoopedMinibatch,
               .rows = 100,
               .batch_size = 2,
               .parallel_batches = 4,
               .tail = Tail::kWrap});
  EXPECT_EQ(wrap.Updates({.micro_batches = 10}).value(), 3);
  const MicroBatchPlan batch = PlanFor(
      {.algorithm = TrainAlgorithm::kBatch, .rows = 100, .batch_size = 32});
  EXPECT_EQ(batch.Updates({.micro_batches = 10}).value(), 4);  // 3.2 epochs
  EXPECT_THAT(batch.Sizes(), ElementsAre(100));
  const MicroBatchPlan rows = PlanFor(
      {.algorithm = TrainAlgorithm::kAllreduce, .rows = 10, .batch_size = 4});
  EXPECT_EQ(rows.Updates({.micro_batches = 10}).value(), 10);
  EXPECT_THAT(Weights(rows, 2), ElementsAre(0.5, 0.5));
  EXPECT_THAT(rows.Sizes(), ElementsAre(1));
}

TEST(MicroBatchPlanTest, AnEpochOfAPartialPlanReadsEachRowOnce) {
  std::mt19937_64 random(7);
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  for (int i = 0; i < 300; ++i) {
    MicroBatchSpec spec = {.algorithm = static_cast<TrainAlgorithm>(below(5)),
                           .rows = 1 + below(60)};
    spec.batch_size = 1 + below(spec.rows);
    spec.parallel_batches = 1 + below(9);
    SCOPED_TRACE(fmt::format("case {}: {}, {} rows, batch {}, parallel {}", i,
                             TrainAlgorithmName(spec.algorithm), spec.rows,
                             spec.batch_size, spec.parallel_batches));
    const MicroBatchPlan plan = PlanFor(spec);
    const std::vector<int64_t> sizes = plan.Sizes();
    std::set<int64_t> seen_sizes;
    for (int64_t epoch = 0; epoch < 2; ++epoch) {
      int64_t next = 0;
      for (int64_t u = 0; u < *plan.UpdatesPerEpoch(); ++u) {
        const int64_t update = epoch * *plan.UpdatesPerEpoch() + u;
        EXPECT_EQ(plan.EpochOf(update), epoch);
        double sum = 0;
        for (const MicroBatch& batch : plan.Update(update)) {
          EXPECT_EQ(batch.begin, next);
          next = batch.end;
          sum += batch.weight;
          seen_sizes.insert(batch.rows());
        }
        EXPECT_NEAR(sum, 1, 1e-12);
      }
      EXPECT_EQ(next, spec.rows);
    }
    EXPECT_EQ(seen_sizes, std::set(sizes.begin(), sizes.end()));
    EXPECT_TRUE(std::ranges::is_sorted(sizes, std::ranges::greater()));
  }
}

// The loops of SystemML as they are written, statement by statement.
TEST(MicroBatchPlanTest, CompatibleTailsReadWhatSystemMlReads) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200; ++i) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % 40);
    const int64_t batch =
        1 + static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
    const int64_t parallel =
        1 +
        static_cast<int64_t>(random() % static_cast<uint64_t>(rows / batch));
    SCOPED_TRACE(fmt::format("case {}: {} rows, batch {}, parallel {}", i, rows,
                             batch, parallel));
    const MicroBatchPlan drift =
        PlanFor({.rows = rows, .batch_size = batch, .tail = Tail::kDrift});
    const int64_t an_epoch = (rows + batch - 1) / batch;
    int64_t epoch = 0;
    for (int64_t it = 1; it <= 50; ++it) {
      const int64_t begin = ((it - 1) * batch) % rows + 1;
      const int64_t end = std::min(begin + batch - 1, rows);
      ASSERT_THAT(drift.Update(it - 1),
                  ElementsAre(MicroBatch{.begin = begin - 1, .end = end}));
      EXPECT_EQ(drift.EpochOf(it - 1), epoch);
      if (it % an_epoch == 0) ++epoch;
    }
    const MicroBatchPlan wrap =
        PlanFor({.algorithm = TrainAlgorithm::kAllreduceParallelBatches,
                 .rows = rows,
                 .batch_size = batch,
                 .parallel_batches = parallel,
                 .tail = Tail::kWrap});
    int64_t update = 0;
    for (int64_t it = 1; it <= 100; it += parallel, ++update) {
      int64_t start = ((it - 1) * batch) % rows + 1;
      if (start + parallel * batch - 1 > rows) start = 1;
      const std::vector<MicroBatch> batches = wrap.Update(update);
      ASSERT_EQ(std::ssize(batches), parallel);
      for (int64_t j = 1; j <= parallel; ++j) {
        const MicroBatch& micro = batches[static_cast<size_t>(j - 1)];
        EXPECT_EQ(micro.begin + 1, start + (j - 1) * batch);
        EXPECT_EQ(micro.end, start + j * batch - 1);
        EXPECT_DOUBLE_EQ(micro.weight, 1.0 / static_cast<double>(parallel));
      }
      EXPECT_EQ(wrap.EpochOf(update), update * parallel * batch / rows);
    }
  }
}

TEST(MicroBatchPlanTest, DropLeavesOutWhatFillsNoGroup) {
  const MicroBatchPlan plan =
      PlanFor({.algorithm = TrainAlgorithm::kLoopedMinibatch,
               .rows = 11,
               .batch_size = 2,
               .parallel_batches = 2,
               .tail = Tail::kDrop});
  EXPECT_EQ(Windows(plan, 3), "1-4 5-8 1-4");
  EXPECT_EQ(plan.Updates({.epochs = 3}).value(), 6);
  EXPECT_THAT(plan.Sizes(), ElementsAre(2));
}

TEST(MicroBatchPlanTest, RefusesWhatCanNeverWork) {
  const auto refusal = [](const MicroBatchSpec& spec) {
    return MicroBatchPlan::Create(spec).status();
  };
  EXPECT_THAT(refusal({.rows = 0}), StatusIs(kRefused, HasSubstr("rows: 0")));
  EXPECT_THAT(
      refusal({.rows = 3, .batch_size = 4}),
      StatusIs(kRefused, HasSubstr("batch_size: 4 is not from 1 to 3")));
  MicroBatchSpec grouped = {.algorithm = TrainAlgorithm::kLoopedMinibatch,
                            .rows = 10,
                            .batch_size = 3,
                            .parallel_batches = 4,
                            .tail = Tail::kWrap};
  EXPECT_THAT(refusal(grouped), StatusIs(kRefused, HasSubstr("at most 3 fit")));
  grouped.parallel_batches = 0;
  EXPECT_THAT(refusal(grouped),
              StatusIs(kRefused, HasSubstr("parallel_batches: 0")));
  grouped.parallel_batches = 2;
  grouped.tail = Tail::kDrift;
  EXPECT_THAT(refusal(grouped), StatusIs(kRefused, HasSubstr("tail: drift")));

  const MicroBatchPlan plan = PlanFor({.rows = 3});
  EXPECT_THAT(plan.Updates({}), StatusIs(kRefused, HasSubstr("not 0")));
  EXPECT_THAT(plan.Updates({.epochs = 1, .updates = 2}),
              StatusIs(kRefused, HasSubstr("not 2")));
  EXPECT_THAT(plan.Updates({.epochs = -1}),
              StatusIs(kRefused, HasSubstr("epochs: -1")));
}

// Every row of a batch is on one device, and weights are parts of all rows.
TEST(DevicesTest, DivideEveryMicroBatch) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    MicroBatchSpec spec = {.batch_size = static_cast<int64_t>(3 + random() % 9),
                           .world_size = static_cast<int>(1 + random() % 3)};
    if (random() % 2 == 0) {
      spec.algorithm = TrainAlgorithm::kLoopedMinibatch;
      spec.parallel_batches = static_cast<int64_t>(1 + random() % 3);
    }
    spec.rows = spec.batch_size * spec.world_size * spec.parallel_batches +
                static_cast<int64_t>(random() % 50);
    for (size_t i = 0; i < 2 + random() % 2; ++i) {
      spec.loads.push_back(1 + static_cast<double>(random() % 5));
    }
    spec.tail = static_cast<Tail>(random() % 3);
    ASSERT_OK_AND_ASSIGN(const MicroBatchPlan plan,
                         MicroBatchPlan::Create(spec));
    for (int64_t update = 0; update < 12; ++update) {
      std::map<int64_t, int> rows;
      for (const MicroBatch& batch : plan.Batches(update)) {
        for (int64_t row = batch.begin; row < batch.end; ++row) ++rows[row];
      }
      double weights = 0;
      size_t count = 0;
      const std::vector<MicroBatch> all = plan.Update(update);
      for (int worker = 0; worker < plan.workers(); ++worker) {
        const std::vector<int64_t> sizes = plan.Sizes(worker);
        const std::vector<MicroBatch> own = plan.UpdateOf(update, worker);
        EXPECT_LE(own.size(), static_cast<size_t>(plan.per_rank()));
        for (const MicroBatch& micro : own) {
          EXPECT_EQ(std::ranges::count(sizes, micro.rows()), 1);
          EXPECT_LE(micro.end, spec.rows);
          if (micro.weight == 0) continue;
          ASSERT_LT(count, all.size());
          EXPECT_EQ(all[count++], micro);
          weights += micro.weight;
          const MicroBatch whole = plan.Batches(
              update)[static_cast<size_t>(plan.NumberOf(update, micro))];
          EXPECT_GE(micro.begin, whole.begin);
          EXPECT_LE(micro.end, whole.end);
          for (int64_t row = micro.begin; row < micro.end; ++row) --rows[row];
        }
      }
      EXPECT_EQ(count, all.size());
      EXPECT_NEAR(weights, 1, 1e-12);
      for (const auto& [row, left] : rows) EXPECT_EQ(left, 0) << row;
    }
  }
}

TEST(DevicesTest, NeedARowEach) {
  EXPECT_THAT(
      MicroBatchPlan::Create({.rows = 10, .batch_size = 2, .loads = {1, 1, 1}}),
      StatusIs(kRefused, HasSubstr("a batch of 2 rows for 3 devices")));
  EXPECT_THAT(MicroBatchPlan::Create({.algorithm = TrainAlgorithm::kAllreduce,
                                      .rows = 10,
                                      .batch_size = 4,
                                      .loads = {1, 1}}),
              StatusIs(kRefused, HasSubstr("a batch of 1 row for 2 devices")));
  EXPECT_THAT(
      MicroBatchPlan::Create(
          {.rows = 10, .batch_size = 4, .tail = Tail::kDrift, .loads = {1, 1}}),
      StatusIs(kRefused, HasSubstr("several devices take partial, drop")));
}

}  // namespace
}  // namespace spillway
