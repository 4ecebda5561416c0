// The loop with a session that only counts.
#include "benchmarks/cnn_throughput.h"

#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/builder/builder.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Step i, from 1, has the loss i. Step `failing_step` fails.
class CountingSession : public Session {
 public:
  explicit CountingSession(ValueId loss) : loss_(loss) {}

  absl::StatusOr<StepResult> Step(int, const Feeds& feeds,
                                  Timeline* timeline) override {
    ++steps;
    if (steps == failing_step) return absl::InternalError("broken");
    images.push_back(*static_cast<const float*>(feeds.begin()->second.data()));
    if (timeline != nullptr) traced.push_back(steps);
    HostTensor loss = {.type = {.dtype = DType::kFloat32, .shape = {}}};
    loss.bytes.resize(sizeof(float));
    const auto value = static_cast<float>(steps);
    std::memcpy(loss.bytes.data(), &value, sizeof(value));
    StepResult result;
    result.fetched[loss_] = std::move(loss);
    return result;
  }

  std::byte* FeedBuffer(int, ValueId placeholder) override {
    const auto found = feed_buffers.find(placeholder);
    return found == feed_buffers.end() ? nullptr : found->second.data();
  }
  absl::StatusOr<std::map<std::string, HostTensor>> ReadVariables() override {
    read_after = steps;
    return std::map<std::string, HostTensor>();
  }
  absl::Status WriteVariables(
      const std::map<std::string, HostTensor>&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::map<std::string, HostTensor>> ReadAllVariables()
      override {
    return ReadVariables();
  }
  absl::Status WriteAllVariables(
      const std::map<std::string, HostTensor>& values) override {
    return WriteVariables(values);
  }
  int num_programs() const override { return 1; }
  const std::map<std::string, TensorType>& variable_types() const override {
    return variable_types_;
  }
  const std::vector<int64_t>& step_numbers() const override {
    return step_numbers_;
  }
  absl::Status SetStepNumbers(const std::vector<int64_t>&) override {
    return absl::OkStatus();
  }
  const ExecutionPlan* plan(int) const override { return &plan_; }
  MemoryUse memory() const override { return {}; }
  const CopyCounts* copies(int) const override { return &copies_; }

  int steps = 0;
  int failing_step = -1;
  int read_after = -1;
  std::vector<int> traced = {};
  std::vector<float> images = {};  // the first number fed in each step
  std::map<ValueId, std::vector<std::byte>> feed_buffers = {};

 private:
  ValueId loss_;
  ExecutionPlan plan_;
  CopyCounts copies_;
  std::map<std::string, TensorType> variable_types_;
  std::vector<int64_t> step_numbers_;
};

class CnnThroughputTest : public ::testing::Test {
 protected:
  CnnThroughputTest() {
    GraphBuilder g(StandardOps());
    model_.options.num_classes = 10;
    model_.images = g.Placeholder("images", DType::kFloat32, {4, 2, 2, 1});
    model_.labels = g.Placeholder("labels", DType::kInt32, {4});
    model_.loss = g.Placeholder("loss", DType::kFloat32, {});
    auto graph = std::move(g).Build();
    EXPECT_THAT(graph, testing::IsOk());
    graph_ = *std::move(graph);
    spec_ = {.batch_size = 4,
             .loss = model_.loss.id(),
             .num_warmup_batches = 3,
             .num_batches = 25,
             .display_every = 10};
    spec_.on_display = [this](const ThroughputStep& step) {
      shown_.push_back(step);
      return absl::OkStatus();
    };
  }

  absl::StatusOr<ThroughputResult> Measure(CountingSession& session) {
    SyntheticFeeds feeds(graph_, model_, 1);
    return MeasureThroughput(spec_, session, feeds);
  }

  Graph graph_;
  ModelGraph model_;
  ThroughputSpec spec_;
  std::vector<ThroughputStep> shown_;
};

TEST_F(CnnThroughputTest, WarmsUpTimesAndTracesOneMore) {
  CountingSession session(model_.loss.id());
  ASSERT_OK_AND_ASSIGN(const ThroughputResult result, Measure(session));
  EXPECT_EQ(session.steps, 3 + 25 + 1);
  EXPECT_EQ(result.steps, session.steps);
  EXPECT_EQ(session.read_after, 3 + 25);
  EXPECT_THAT(session.traced, ElementsAre(3 + 25 + 1));
  EXPECT_THAT(result.step_seconds, SizeIs(25));
  EXPECT_THAT(result.losses, SizeIs(25));
  EXPECT_EQ(result.losses.front(), 3 + 1);
  EXPECT_EQ(result.losses.back(), 3 + 25);
}

TEST_F(CnnThroughputTest, SaysWhenTheTimedStepsAreDone) {
  CountingSession session(model_.loss.id());
  std::vector<int> steps_then;
  spec_.on_timed = [&](const auto&) {
    steps_then.push_back(session.steps);
    return absl::OkStatus();
  };
  ASSERT_THAT(Measure(session), testing::IsOk());
  EXPECT_THAT(steps_then, ElementsAre(3 + 25));
  spec_.on_timed = [](const auto&) { return absl::DataLossError("disk full"); };
  EXPECT_THAT(Measure(session), testing::StatusIs(absl::StatusCode::kDataLoss,
                                                  HasSubstr("disk full")));
}

// The images in the session's memory, the labels in the feeds' own.
TEST_F(CnnThroughputTest, FeedsAreMadeWhereTheSessionHasMemory) {
  const ValueId id = model_.images.id();
  CountingSession session(model_.loss.id());
  std::vector<std::byte>& buffer = session.feed_buffers[id];
  buffer.resize(static_cast<size_t>(graph_.type(id).num_bytes()));
  SyntheticFeeds made_there(graph_, model_, 1, &session);
  SyntheticFeeds made_here(graph_, model_, 1);
  for (const int64_t batch : {0, 3}) {
    made_there.Generate(batch);
    made_here.Generate(batch);
    const Feeds feeds = made_there.feeds();
    ASSERT_THAT(feeds, SizeIs(2));
    EXPECT_EQ(feeds.at(id).data(), buffer.data());
    EXPECT_EQ(std::memcmp(buffer.data(), made_here.feeds().at(id).data(),
                          buffer.size()),
              0);
  }
}

TEST_F(CnnThroughputTest, ShowsTheFirstStepAndEveryTenthWithAllTimesSoFar) {
  CountingSession session(model_.loss.id());
  ASSERT_OK_AND_ASSIGN(const ThroughputResult result, Measure(session));
  ASSERT_THAT(shown_, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<int64_t> steps = {1, 10, 20};
    EXPECT_EQ(shown_[i].step, steps[i]);
    EXPECT_EQ(shown_[i].loss, static_cast<double>(3 + steps[i]));
    const std::vector<double> so_far(result.step_seconds.begin(),
                                     result.step_seconds.begin() + steps[i]);
    EXPECT_EQ(shown_[i].statistics.images_per_second,
              SummarizeThroughput(4, so_far).images_per_second);
  }
  EXPECT_EQ(result.last.step, 25);
  EXPECT_EQ(result.last.statistics.jitter,
            SummarizeThroughput(4, result.step_seconds).jitter);
}

TEST_F(CnnThroughputTest, TheTotalIsNotFasterThanTheSteps) {
  CountingSession session(model_.loss.id());
  ASSERT_OK_AND_ASSIGN(const ThroughputResult result, Measure(session));
  EXPECT_GT(result.total_images_per_second, 0);
  EXPECT_LE(result.total_images_per_second,
            result.last.statistics.images_per_second * 1.000001);
}

TEST_F(CnnThroughputTest, FixedImagesStayAndFreshOnesChange) {
  CountingSession fixed(model_.loss.id());
  EXPECT_THAT(Measure(fixed), testing::IsOk());
  CountingSession fresh(model_.loss.id());
  spec_.fresh_images = true;
  EXPECT_THAT(Measure(fresh), testing::IsOk());
  EXPECT_EQ(fixed.images.front(), fixed.images.back());
  EXPECT_EQ(fixed.images.front(), fresh.images.front());
  for (size_t i = 1; i < fresh.images.size(); ++i) {
    EXPECT_NE(fresh.images[i], fresh.images[i - 1]) << i;
  }
}

// As many timed steps as until the request, then the traced step.
TEST_F(CnnThroughputTest, AStopRequestEndsItAsThatManyBatchesWould) {
  CountingSession session(model_.loss.id());
  int asked = 0;
  spec_.stop = [&] { return ++asked == 3 + 7; };
  size_t timed = 0;
  spec_.on_timed = [&](const ThroughputResult& so_far) {
    timed = so_far.step_seconds.size();
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(const ThroughputResult result, Measure(session));
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(timed, 7u);
  EXPECT_THAT(result.losses, SizeIs(7));
  EXPECT_EQ(result.last.step, 7);
  EXPECT_EQ(result.last.statistics.images_per_second,
            SummarizeThroughput(4, result.step_seconds).images_per_second);
  EXPECT_LE(result.total_images_per_second,
            result.last.statistics.images_per_second * 1.000001);
  EXPECT_EQ(session.read_after, 3 + 7);
  EXPECT_THAT(session.traced, ElementsAre(3 + 7 + 1));
  EXPECT_THAT(shown_, SizeIs(1));
}

TEST_F(CnnThroughputTest, AStopRequestInWarmUpLeavesNoTimes) {
  CountingSession session(model_.loss.id());
  spec_.stop = [&] { return session.steps == 2; };
  ASSERT_OK_AND_ASSIGN(const ThroughputResult result, Measure(session));
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(result.step_seconds, SizeIs(0));
  EXPECT_EQ(result.total_images_per_second, 0);
  EXPECT_EQ(result.steps, 2 + 1);
  EXPECT_THAT(shown_, SizeIs(0));
}

TEST_F(CnnThroughputTest, ARequestThatComesTooLateChangesNothing) {
  CountingSession session(model_.loss.id());
  int asked = 0;
  spec_.stop = [&] {
    ++asked;
    return session.steps == 3 + 25;
  };
  ASSERT_OK_AND_ASSIGN(const ThroughputResult result, Measure(session));
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(asked, 3 + 24);
}

TEST_F(CnnThroughputTest, StopsAtAStepThatFails) {
  CountingSession session(model_.loss.id());
  session.failing_step = 12;
  const auto result = Measure(session);
  EXPECT_THAT(result.status().ToString(), HasSubstr("broken"));
  EXPECT_EQ(session.steps, 12);
}

TEST_F(CnnThroughputTest, StopsWhenALineCannotBeShown) {
  CountingSession session(model_.loss.id());
  spec_.on_display = [](const ThroughputStep&) {
    return absl::FailedPreconditionError("disk full");
  };
  EXPECT_EQ(Measure(session).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(session.steps, 3 + 1);
}

}  // namespace
}  // namespace spillway
