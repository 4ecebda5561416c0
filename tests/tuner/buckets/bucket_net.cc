#include "tests/tuner/buckets/bucket_net.h"

#include <bit>
#include <random>
#include <utility>

#include "base/status_macros.h"
#include "graph/builder/builder.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"
#include "tuner/simulate.h"
#include "tuner/tuned_session.h"

namespace spillway::testing {
namespace {

constexpr int64_t kClasses = 5;

// The distinct keys, in the order of their first use.
std::vector<BucketKey> DistinctKeys(const std::vector<BucketKey>& keys) {
  std::vector<BucketKey> distinct;
  for (const BucketKey& key : keys) {
    if (std::ranges::count(distinct, key) == 0) distinct.push_back(key);
  }
  return distinct;
}

Tensor Convolved(const NameScope& scope, Tensor x, int64_t filters) {
  x = Conv2D(scope, x, {.filters = filters, .kernel = {3, 3}});
  return BatchNorm(scope, x, {.activation = Activation::kRelu});
}

}  // namespace

absl::StatusOr<Program> BuildBucketNet(const BucketNet& net,
                                       const BucketKey& key) {
  GraphBuilder g("images");
  const Tensor images =
      g.Placeholder("images", DType::kFloat32, {net.batch, key[0], key[1], 3});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {net.batch});
  Tensor x = Convolved(g.Scope("conv1"), images, 16);
  if (net.constant_every != 0 && key[0] % net.constant_every == 0) {
    x = Scale(g.Scope("scaled"), x, 0.75);
  }
  x = Convolved(g.Scope("conv2"), x, 16);
  x = Dropout(g.Scope("dropout"), x, {.rate = 0.25});
  x = Convolved(g.Scope("conv3"), x, 32);
  x = GlobalAveragePool(g.Scope("mean"), x);
  x = Dense(g.Scope("logits"), x, {.units = kClasses});
  const Tensor loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), x, labels);
  Minimize(g.Scope("optimizer"), loss, net.optimizer);
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  return Program{.graph = std::move(graph), .fetches = {loss}};
}

std::map<std::string, HostTensor> BucketFeeds(const BucketNet& net,
                                              const BucketKey& key,
                                              uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> images(
      static_cast<size_t>(net.batch * key[0] * key[1] * 3));
  for (float& pixel : images) {
    pixel = static_cast<float>(random() % 256) / 128 - 1;
  }
  std::vector<int32_t> labels(static_cast<size_t>(net.batch));
  for (int32_t& label : labels) {
    label = static_cast<int32_t>(random() % kClasses);
  }
  return {
      {"images", MakeHostTensor({.dtype = DType::kFloat32,
                                 .shape = {net.batch, key[0], key[1], 3}},
                                images)},
      {"labels",
       MakeHostTensor({.dtype = DType::kInt32, .shape = {net.batch}}, labels)}};
}

NamedFeeds FeedsByName(const std::map<std::string, HostTensor>& tensors) {
  NamedFeeds feeds;
  for (const auto& [name, tensor] : tensors) feeds[name] = Feed(tensor);
  return feeds;
}

Feeds FeedsByValue(const Graph& graph,
                   const std::map<std::string, HostTensor>& tensors) {
  Feeds feeds;
  for (const auto& [name, tensor] : tensors) {
    feeds[graph.FindValue(name).value()] = Feed(tensor);
  }
  return feeds;
}

StepOptions BucketOptions(std::optional<int64_t> device_memory) {
  return {.device = "cpu",
          .threads = 1,
          .device_memory = device_memory,
          .algorithms = AlgorithmChoice::kFirst,
          .profile = "p100_pcie",
          .seed = 3};
}

int64_t UnswappedBucketBytes(const BucketNet& net, const BucketKey& key) {
  StepOptions options = BucketOptions();
  options.lms = {.mode = LmsMode::kOff};
  options.schedule = ScheduleKind::kMemory;
  const absl::StatusOr<Program> program = BuildBucketNet(net, key);
  EXPECT_THAT(program, IsOk());
  if (!program.ok()) return 0;
  const auto predicted = Simulate(*program, options);
  EXPECT_THAT(predicted, IsOk());
  return predicted.ok() ? predicted->smallest_device_bytes : 0;
}

absl::StatusOr<BucketTraining> TrainBuckets(
    BucketedSession& session, const BucketNet& net,
    const std::vector<BucketKey>& keys) {
  BucketTraining training;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto feeds = BucketFeeds(net, keys[i], i);
    SPILLWAY_ASSIGN_OR_RETURN(const BucketStep step,
                              session.Step(keys[i], FeedsByName(feeds)));
    SPILLWAY_ASSIGN_OR_RETURN(const float loss, step.scalar(0));
    training.losses.push_back(loss);
  }
  SPILLWAY_ASSIGN_OR_RETURN(Session* const inner, session.session());
  SPILLWAY_ASSIGN_OR_RETURN(training.variables, inner->ReadAllVariables());
  return training;
}

absl::StatusOr<BucketTraining> TrainAllPrograms(
    const BucketNet& net, const std::vector<BucketKey>& keys,
    const StepOptions& options) {
  const std::vector<BucketKey> distinct = DistinctKeys(keys);
  std::vector<Program> programs;
  for (const BucketKey& key : distinct) {
    SPILLWAY_ASSIGN_OR_RETURN(Program program, BuildBucketNet(net, key));
    programs.push_back(std::move(program));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            CreateTunedSession(programs, options));
  BucketTraining training;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto index = static_cast<size_t>(
        std::ranges::find(distinct, keys[i]) - distinct.begin());
    const auto feeds = BucketFeeds(net, keys[i], i);
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult step,
        session->Step(static_cast<int>(index),
                      FeedsByValue(programs[index].graph, feeds)));
    SPILLWAY_ASSIGN_OR_RETURN(const float loss,
                              step.scalar(programs[index].fetches[0]));
    training.losses.push_back(loss);
  }
  SPILLWAY_ASSIGN_OR_RETURN(training.variables, session->ReadAllVariables());
  return training;
}

absl::StatusOr<BucketTraining> TrainByCopies(const BucketNet& net,
                                             const std::vector<BucketKey>& keys,
                                             const StepOptions& options) {
  struct Single {
    Program program;
    std::unique_ptr<Session> session;
  };
  std::map<BucketKey, Single> singles;
  BucketTraining training;
  for (size_t i = 0; i < keys.size(); ++i) {
    Single& single = singles[keys[i]];
    if (single.session == nullptr) {
      SPILLWAY_ASSIGN_OR_RETURN(single.program, BuildBucketNet(net, keys[i]));
      SPILLWAY_ASSIGN_OR_RETURN(single.session,
                                CreateTunedSession(single.program, options));
    }
    if (i > 0) {
      SPILLWAY_RETURN_IF_ERROR(
          single.session->WriteVariables(training.variables));
    }
    const auto feeds = BucketFeeds(net, keys[i], i);
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult step,
        single.session->Step(FeedsByValue(single.program.graph, feeds)));
    SPILLWAY_ASSIGN_OR_RETURN(const float loss,
                              step.scalar(single.program.fetches[0]));
    training.losses.push_back(loss);
    SPILLWAY_ASSIGN_OR_RETURN(training.variables,
                              single.session->ReadVariables());
  }
  return training;
}

void ExpectSameTraining(const BucketTraining& got,
                        const BucketTraining& expected) {
  ASSERT_EQ(got.losses.size(), expected.losses.size());
  for (size_t i = 0; i < got.losses.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(got.losses[i]),
              std::bit_cast<uint32_t>(expected.losses[i]))
        << "step " << i << ": " << got.losses[i] << " and "
        << expected.losses[i];
  }
  EXPECT_EQ(Checksum(got.variables), Checksum(expected.variables));
}

}  // namespace spillway::testing
