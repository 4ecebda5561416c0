// Trains a network first on small images, then on larger ones, which is quicker
// than on large ones from the start. Each size is a bucket: its own program and
// plan, with the variables of all, in one arena within one budget.
//
//   image_sizes /usr/share/datasets/fashion-mnist
//
// Debian's package dataset-fashion-mnist installs the files there.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "spillway/spillway.h"

namespace {

using namespace spillway;  // NOLINT(google-build-using-namespace)

constexpr int64_t kBatch = 32;
constexpr int64_t kSide = 28;  // of the images of the data set

// The training step for images of key[0] x key[0]. No variable depends on the
// size: a mean over the image is what the last layer reads.
absl::StatusOr<Program> BuildProgram(const BucketKey& key) {
  GraphBuilder g(StandardOps(), "image_sizes");
  const Tensor images =
      g.Placeholder("images", DType::kFloat32, {kBatch, key[0], key[0], 1});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {kBatch});
  Tensor x = images;
  for (const char* name : {"conv1", "conv2", "conv3"}) {
    x = ConvNorm(g.Scope(name), x, ResNetConv(32, 3),
                 ResNetNorm(true, Activation::kRelu));
  }
  x = GlobalAveragePool(g.Scope("mean"), x);
  x = Dense(g.Scope("logits"), x, {.units = 10});
  const Tensor loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), x, labels);
  Minimize(g.Scope("optimizer"), loss, Momentum{.learning_rate = 0.05});
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  return Program{.graph = std::move(graph), .fetches = {loss}};
}

// Images of kSide x kSide, each pixel of the result the mean of a square.
HostTensor Shrunk(TensorView images, int64_t side) {
  const int64_t square = kSide / side;
  HostTensor result;
  result.type = {.dtype = DType::kFloat32, .shape = {kBatch, side, side, 1}};
  result.bytes.resize(static_cast<size_t>(result.type.num_bytes()));
  std::vector<float> from(static_cast<size_t>(kBatch * kSide * kSide));
  std::vector<float> to(static_cast<size_t>(kBatch * side * side), 0);
  std::memcpy(from.data(), images.data, from.size() * sizeof(float));
  for (int64_t image = 0; image < kBatch; ++image) {
    for (int64_t y = 0; y < kSide; ++y) {
      for (int64_t x = 0; x < kSide; ++x) {
        const int64_t row = image * side + y / square;
        to[static_cast<size_t>(row * side + x / square)] +=
            from[static_cast<size_t>((image * kSide + y) * kSide + x)] /
            static_cast<float>(square * square);
      }
    }
  }
  std::memcpy(result.bytes.data(), to.data(), result.bytes.size());
  return result;
}

absl::Status Run(const std::string& folder) {
  SPILLWAY_ASSIGN_OR_RETURN(const auto data,
                            Mnist::Open(folder, Split::kTrain));
  const Shuffled shuffled(*data, {.seed = 1});
  const Batched batches(shuffled, {.batch_size = kBatch});
  Prefetched reader(batches);

  // The larger size is planned ahead, so the arena does not grow later.
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<BucketedSession> session,
      BucketedSession::Create(
          {.program_of = BuildProgram, .default_key = {14}, .keys = {{28}}},
          {.device = "cpu",
           .device_memory = 8'000'000,
           .algorithms = AlgorithmChoice::kFirst}));
  for (const int64_t side : {14, 28}) {
    float last = 0;
    for (int step = 0; step < 30; ++step) {
      SPILLWAY_ASSIGN_OR_RETURN(const auto batch, reader.Next());
      const HostTensor images = Shrunk(batch[0], side);
      SPILLWAY_ASSIGN_OR_RETURN(
          const BucketStep result,
          session->Step({side}, {{"images", images}, {"labels", batch[1]}}));
      SPILLWAY_ASSIGN_OR_RETURN(last, result.scalar(0));
    }
    std::printf("%lld x %lld: loss %.3f\n", static_cast<long long>(side),
                static_cast<long long>(side), last);
  }
  SPILLWAY_ASSIGN_OR_RETURN(Session* const all, session->session());
  const MemoryUse memory = all->memory();
  std::printf("one arena of %s\n",
              FormatBytes(memory.predicted_device_bytes).c_str());
  for (int program = 0; program < all->num_programs(); ++program) {
    std::printf("bucket %lld: %lld copies to the host\n",
                static_cast<long long>(
                    session->keys()[static_cast<size_t>(program)][0]),
                static_cast<long long>(all->copies(program)->swap_outs));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status =
      argc == 2 ? Run(argv[1])
                : InvalidArgument("usage: image_sizes DATA_FOLDER");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
