// Trains LeNet on Fashion-MNIST in 32 MiB of device memory. Without swapping,
// the training step needs 44 MiB; large-model support (LMS) moves activations
// to the host and back.
//
//   lenet /usr/share/datasets/fashion-mnist
//
// Debian's package dataset-fashion-mnist installs the files there.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "spillway/spillway.h"

namespace {

using namespace spillway;  // NOLINT(google-build-using-namespace)

struct LeNet {
  Graph graph;
  ValueId images;
  ValueId labels;
  ValueId loss;
};

absl::StatusOr<LeNet> BuildLeNet(int64_t batch_size) {
  GraphBuilder g("lenet");
  const Tensor images =
      g.Placeholder("images", DType::kFloat32, {batch_size, 28, 28, 1});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {batch_size});

  Tensor x = images;
  x = Conv2D(g.Scope("conv1"), x, {.filters = 32, .kernel = {5, 5}});
  x = MaxPoolRelu(g.Scope("pool1"), x, {.window = {2, 2}, .strides = {2, 2}});
  x = Conv2D(g.Scope("conv2"), x, {.filters = 64, .kernel = {5, 5}});
  x = MaxPoolRelu(g.Scope("pool2"), x, {.window = {2, 2}, .strides = {2, 2}});
  x = Flatten(g.Scope("flatten"), x);
  x = Dense(g.Scope("fc"), x, {.units = 512, .activation = Activation::kRelu});
  x = Dense(g.Scope("logits"), x, {.units = 10});
  const Tensor loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), x, labels);
  Minimize(g.Scope("optimizer"), loss, Momentum{.learning_rate = 0.01});

  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  return LeNet{std::move(graph), images, labels, loss};
}

absl::Status Train(const std::string& folder) {
  SPILLWAY_ASSIGN_OR_RETURN(LeNet net, BuildLeNet(128));
  SPILLWAY_RETURN_IF_ERROR(ApplyLms(LmsOptions::V1(), net.graph).status());
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            NewDevice("cpu", {}));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      Session::Create({{net.graph, {net.loss}}}, std::move(device),
                      {.device_memory = 32_MiB}));
  std::printf("%s on the device\n",
              FormatBytes(session->memory().predicted_device_bytes).c_str());

  SPILLWAY_ASSIGN_OR_RETURN(const auto data,
                            Mnist::Open(folder, Split::kTrain));
  const Shuffled shuffled(*data, {.seed = 1});
  const Batched batches(shuffled, {.batch_size = 128});
  Prefetched reader(batches);
  for (int step = 1; step <= 100; ++step) {
    SPILLWAY_ASSIGN_OR_RETURN(const Batch batch, reader.Next());
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult result,
        session->Step({{net.images, batch[0]}, {net.labels, batch[1]}}));
    if (step % 25 != 0) continue;
    SPILLWAY_ASSIGN_OR_RETURN(const float loss, result.scalar(net.loss));
    std::printf("step %3d  loss %.3f\n", step, loss);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status =
      argc == 2 ? Train(argv[1]) : InvalidArgument("usage: lenet DATA_FOLDER");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
