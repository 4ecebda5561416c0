// Trains a residual network with branches in half of the memory that its step
// needs without swapping: the tuner chooses which tensors move to the host.
// Losses and variables are bitwise identical to those without a budget.
//
//   residual /usr/share/datasets/fashion-mnist
//
// Debian's package dataset-fashion-mnist installs the files there.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "spillway/spillway.h"

namespace {

using namespace spillway;  // NOLINT(google-build-using-namespace)

constexpr int64_t kBatch = 32;

struct Network {
  Graph graph;
  Tensor images;
  Tensor labels;
  Tensor loss;
};

// Two parallel branches over x, and a shortcut around both.
Tensor Block(const NameScope& scope, Tensor x, int64_t filters) {
  const BatchNormOptions norm = ResNetNorm(true, Activation::kRelu);
  const Tensor narrow =
      ConvNorm(scope.Scope("narrow"), x, ResNetConv(filters / 2, 1), norm);
  Tensor wide =
      ConvNorm(scope.Scope("wide1"), x, ResNetConv(filters / 2, 3), norm);
  wide = ConvNorm(scope.Scope("wide2"), wide, ResNetConv(filters / 2, 3), norm);
  const Tensor both = ConcatChannels(scope, {narrow, wide});
  return Relu(scope, Add(scope, both, PadChannels(scope, x, filters)));
}

absl::StatusOr<Network> BuildNetwork() {
  GraphBuilder g(StandardOps(), "residual");
  const Tensor images =
      g.Placeholder("images", DType::kFloat32, {kBatch, 28, 28, 1});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {kBatch});
  Tensor x = ConvNorm(g.Scope("stem"), images, ResNetConv(16, 3),
                      ResNetNorm(true, Activation::kRelu));
  int64_t filters = 16;
  for (const char* stage : {"stage1", "stage2", "stage3"}) {
    x = Block(g.Scope(stage).Scope("block1"), x, filters);
    x = Block(g.Scope(stage).Scope("block2"), x, filters);
    x = MaxPool(g.Scope(stage), x, {.window = {2, 2}, .strides = {2, 2}});
    filters *= 2;
  }
  x = GlobalAveragePool(g.Scope("mean"), x);
  x = Dense(g.Scope("logits"), x, {.units = 10});
  const Tensor loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), x, labels);
  Minimize(g.Scope("optimizer"), loss, Momentum{.learning_rate = 0.005});
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  return Network{std::move(graph), images, labels, loss};
}

// Runs `steps` steps and returns the loss of the last one.
absl::StatusOr<float> Train(Session& session, const Network& net,
                            const Dataset& data, int steps) {
  const Shuffled shuffled(data, {.seed = 1});
  const Batched batches(shuffled, {.batch_size = kBatch});
  Prefetched reader(batches);
  float last = 0;
  for (int step = 1; step <= steps; ++step) {
    SPILLWAY_ASSIGN_OR_RETURN(const auto batch, reader.Next());
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult result,
        session.Step({{net.images, batch[0]}, {net.labels, batch[1]}}));
    SPILLWAY_ASSIGN_OR_RETURN(last, result.scalar(net.loss));
    if (step % 10 == 0) std::printf("step %3d  loss %.3f\n", step, last);
  }
  return last;
}

absl::Status Run(const std::string& folder) {
  SPILLWAY_ASSIGN_OR_RETURN(const Network net, BuildNetwork());
  SPILLWAY_ASSIGN_OR_RETURN(const auto data,
                            Mnist::Open(folder, Split::kTrain));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};

  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> whole,
      CreateTunedSession(program, {.device = "cpu",
                                   .lms = {.mode = LmsMode::kOff},
                                   .algorithms = AlgorithmChoice::kFirst}));
  const int64_t needs = whole->memory().predicted_device_bytes;
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> half,
      CreateTunedSession(program, {.device = "cpu",
                                   .device_memory = needs / 2,
                                   .algorithms = AlgorithmChoice::kFirst}));
  std::printf("without swaps %s, tuned %s\n", FormatBytes(needs).c_str(),
              FormatBytes(half->memory().predicted_device_bytes).c_str());

  SPILLWAY_ASSIGN_OR_RETURN(const float loss, Train(*half, net, *data, 20));
  SPILLWAY_RETURN_IF_ERROR(Train(*whole, net, *data, 20).status());
  SPILLWAY_ASSIGN_OR_RETURN(const auto got, half->ReadVariables());
  SPILLWAY_ASSIGN_OR_RETURN(const auto expected, whole->ReadVariables());
  if (Checksum(got) != Checksum(expected)) {
    return Internal("swapping changed the variables");
  }
  std::printf("loss %.3f; all variables bitwise identical\n", loss);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status =
      argc == 2 ? Run(argv[1]) : InvalidArgument("usage: residual DATA_FOLDER");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
