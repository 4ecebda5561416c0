#include "benchmarks/synthetic_feeds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "graph/builder/builder.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::Each;
using ::testing::Eq;
using ::testing::UnorderedElementsAre;

struct FeedModel {
  Graph graph;
  ModelGraph model;
};

// Only the feeds of a model.
FeedModel MakeFeedModel(int64_t num_classes, const Shape& labels) {
  GraphBuilder g(StandardOps());
  FeedModel made;
  made.model.options.num_classes = num_classes;
  made.model.images = g.Placeholder("images", DType::kFloat32, {16, 32, 32, 3});
  made.model.labels = g.Placeholder("labels", DType::kInt32, labels);
  made.model.targets = g.Placeholder("targets", DType::kFloat32, {100, 40});
  auto graph = std::move(g).Build();
  EXPECT_THAT(graph, testing::IsOk());
  made.graph = *std::move(graph);
  return made;
}

template <typename T>
std::vector<T> Values(const FeedModel& made, const SyntheticFeeds& feeds,
                      const Tensor& tensor) {
  const Feed feed = feeds.feeds().at(tensor.id());
  EXPECT_THAT(feed.Check(made.graph.type(tensor.id())), testing::IsOk());
  const T* data = static_cast<const T*>(feed.data());
  return {data, data + made.graph.type(tensor.id()).num_elements()};
}

double MeanOf(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double DeviationOf(const std::vector<float>& values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (const float value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// A normal distribution truncated at twice its deviation keeps 0.8796 of it.
TEST(SyntheticFeedsTest, ImagesAreATruncatedNormal) {
  const FeedModel made = MakeFeedModel(10, {16});
  const SyntheticFeeds feeds(made.graph, made.model, 7);
  const auto images = Values<float>(made, feeds, made.model.images);
  ASSERT_EQ(images.size(), 16u * 32 * 32 * 3);
  EXPECT_NEAR(MeanOf(images), 127.0, 1.0);
  EXPECT_NEAR(DeviationOf(images), 60 * 0.8796, 0.7);
  EXPECT_GE(std::ranges::min(images), 127 - 2 * 60);
  EXPECT_LE(std::ranges::max(images), 127 + 2 * 60);
}

TEST(SyntheticFeedsTest, ImagesHaveTheModelsScale) {
  FeedModel made = MakeFeedModel(10, {16});
  made.model.pixel_scale = 1.0 / 255;
  const SyntheticFeeds feeds(made.graph, made.model, 7);
  const auto images = Values<float>(made, feeds, made.model.images);
  EXPECT_NEAR(MeanOf(images), 127.0 / 255, 1.0 / 255);
  EXPECT_NEAR(DeviationOf(images), 60 * 0.8796 / 255, 0.7 / 255);
}

TEST(SyntheticFeedsTest, TargetsAreAStandardNormal) {
  const FeedModel made = MakeFeedModel(10, {16});
  const SyntheticFeeds feeds(made.graph, made.model, 7);
  const auto targets = Values<float>(made, feeds, made.model.targets);
  EXPECT_NEAR(MeanOf(targets), 0.0, 0.06);
  EXPECT_NEAR(DeviationOf(targets), 1.0, 0.04);
}

// A label for each pixel; the last class never occurs.
TEST(SyntheticFeedsTest, LabelsAreAllClassesButTheLast) {
  const FeedModel made = MakeFeedModel(5, {16, 8, 8});
  const SyntheticFeeds feeds(made.graph, made.model, 7);
  const auto labels = Values<int32_t>(made, feeds, made.model.labels);
  EXPECT_EQ(labels.size(), 16u * 8 * 8);
  EXPECT_THAT(std::set<int32_t>(labels.begin(), labels.end()),
              UnorderedElementsAre(0, 1, 2, 3));
  for (int32_t label = 0; label < 4; ++label) {
    EXPECT_NEAR(std::ranges::count(labels, label), 256, 60) << label;
  }
}

TEST(SyntheticFeedsTest, OneClassHasOneLabel) {
  for (const int64_t num_classes : {1, 2}) {
    const FeedModel made = MakeFeedModel(num_classes, {16});
    const SyntheticFeeds feeds(made.graph, made.model, 7);
    EXPECT_THAT(Values<int32_t>(made, feeds, made.model.labels), Each(Eq(0)));
  }
}

TEST(SyntheticFeedsTest, AreAFunctionOfSeedAndBatch) {
  const FeedModel made = MakeFeedModel(10, {16});
  SyntheticFeeds feeds(made.graph, made.model, 7);
  const SyntheticFeeds other_seed(made.graph, made.model, 8);
  const auto first = Values<float>(made, feeds, made.model.images);
  EXPECT_NE(first, Values<float>(made, other_seed, made.model.images));
  feeds.Generate(1);
  EXPECT_NE(first, Values<float>(made, feeds, made.model.images));
  feeds.Generate(0);
  EXPECT_EQ(first, Values<float>(made, feeds, made.model.images));
}

// Tokens are within the smaller of both tables, through a slice and a cast;
// flags number nothing.
TEST(SyntheticFeedsTest, IntegersAreRowsOfTheTableThatTheyIndex) {
  GraphBuilder g(StandardOps());
  FeedModel made;
  made.model.has_pixels = false;
  made.model.images = g.Placeholder("tokens", DType::kInt64, {40, 8});
  made.model.more_inputs = {g.Placeholder("flags", DType::kInt32, {100})};
  const Tensor large = g.Placeholder("large", DType::kFloat32, {50, 4});
  const Tensor small = g.Placeholder("small", DType::kFloat32, {3, 7});
  g.Add(g, {.op = "Gather", .inputs = {large, made.model.images}});
  const Tensor part =
      g.Add(g, {.op = "Slice",
                .inputs = {made.model.images},
                .attributes = {{"begin", std::vector<int64_t>{0, 0}},
                               {"size", std::vector<int64_t>{40, 1}}}});
  const Tensor cast = g.Add(g, {.op = "Cast",
                                .inputs = {part},
                                .attributes = {{"dtype", DType::kInt32}}});
  g.Add(g, {.op = "Gather",
            .inputs = {small, cast},
            .attributes = {{"axis", int64_t{1}}}});
  ASSERT_OK_AND_ASSIGN(made.graph, std::move(g).Build());
  const SyntheticFeeds feeds(made.graph, made.model, 1, nullptr);
  const auto tokens = Values<int64_t>(made, feeds, made.model.images);
  EXPECT_THAT(std::set<int64_t>(tokens.begin(), tokens.end()),
              UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6));
  const auto flags = Values<int32_t>(made, feeds, made.model.more_inputs[0]);
  EXPECT_THAT(std::set<int32_t>(flags.begin(), flags.end()),
              UnorderedElementsAre(0, 1));
}

}  // namespace
}  // namespace spillway
