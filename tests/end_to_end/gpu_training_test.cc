// Networks trained on the cuda backend without a GPU: its device on a fake
// runtime, its kernels as fibers. Ops that a library computes on a GPU
// (convolutions, products) borrow the CPU's kernels.
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "executor/device/cuda/cuda_device.h"
#include "lms/lms.h"
#include "ops/all_ops.h"
#include "ops/conv.h"
#include "ops/gpu/factories.h"
#include "ops/matmul.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/cuda_emulation.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::FakeCuda;
using testing::MakeRandomNetwork;
using testing::RandomNetwork;
using testing::TrainedModel;
using testing::TrainGraphSpec;

// That of the test that runs.
FakeCuda* present_cuda = nullptr;

// A kernel of the CPU, run by a stream of the fake.
class BorrowedKernel final : public Kernel {
 public:
  explicit BorrowedKernel(std::unique_ptr<Kernel> kernel)
      : kernel_(std::move(kernel)) {}

  int64_t workspace_bytes() const override {
    return kernel_->workspace_bytes();
  }

  absl::Status Run(const KernelContext& context) override {
    present_cuda->Submit(
        context.stream,
        [this, context,
         inputs = std::vector(context.inputs.begin(), context.inputs.end()),
         outputs =
             std::vector(context.outputs.begin(), context.outputs.end())] {
          KernelContext own = context;
          own.inputs = inputs;
          own.outputs = outputs;
          own.stream = nullptr;
          CHECK(kernel_->Run(own).ok());
        });
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
};

template <KernelFactory kOnCpu>
absl::StatusOr<std::unique_ptr<Kernel>> Borrow(const KernelRequest& node) {
  ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, kOnCpu(node));
  return std::make_unique<BorrowedKernel>(std::move(kernel));
}

const KernelRegistry& GpuKernels() {
  static const KernelRegistry kernels = [] {
    KernelRegistry made;
    AddGpuKernels(made);
    const auto add = [&](std::string_view op, KernelFactory factory) {
      made.Add(op, DeviceKind::kCuda, factory);
    };
    add("Conv2D", Borrow<ops::ConvCpu>);
    add("Conv2DBackpropFilter", Borrow<ops::ConvBackpropFilterCpu>);
    add("Conv2DBackpropInput", Borrow<ops::ConvBackpropInputCpu>);
    add("MatMul", Borrow<ops::MatMulCpu>);
    return made;
  }();
  return kernels;
}

class GpuTrainingTest : public ::testing::Test {
 protected:
  GpuTrainingTest() {
    present_cuda = &cuda_;
    cuda_emulation::SetQueue([](void* stream, std::function<void()> work) {
      present_cuda->Submit(stream, std::move(work));
    });
  }

  absl::StatusOr<TrainedModel> Train(const Graph& graph,
                                     const RandomNetwork& network) {
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                     NewCudaDevice(cuda_, 0, {}));
    std::vector<Program> programs;
    programs.push_back({.graph = graph, .fetches = {network.loss}});
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                     Session::Create(std::move(programs), std::move(device),
                                     {.ops = &StandardOps(),
                                      .kernels = &GpuKernels(),
                                      .threads = 1,
                                      .seed = 5}));
    return TrainSession(*session, graph, network.loss, SpecOf(network));
  }

  static TrainGraphSpec SpecOf(const RandomNetwork& network) {
    return {.num_classes = network.num_classes, .steps = 2, .threads = 1};
  }

  FakeCuda cuda_;
};

void ExpectNear(const std::vector<float>& losses,
                const std::vector<float>& expected) {
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 0.02 * std::abs(expected[i]) + 1e-3);
  }
}

TEST_F(GpuTrainingTest, LossesAreThoseOfTheCpu) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(seed));
    ASSERT_OK_AND_ASSIGN(const TrainedModel on_gpu,
                         Train(network.graph, network));
    ASSERT_OK_AND_ASSIGN(
        const TrainedModel on_cpu,
        TrainGraph(network.graph, network.loss, SpecOf(network)));
    ExpectNear(on_gpu.losses, on_cpu.losses);
    ExpectExactMemory(on_gpu);
  }
}

TEST_F(GpuTrainingTest, RangesAreNamedAsTheNodes) {
  ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(1));
  ASSERT_OK_AND_ASSIGN(const TrainedModel run, Train(network.graph, network));
  const std::vector<std::string> ranges = cuda_.ranges();
  EXPECT_GT(ranges.size(), 10u);
  for (const std::string& name : ranges) {
    EXPECT_TRUE(network.graph.FindNode(name).has_value()) << name;
  }
}

TEST_F(GpuTrainingTest, SwappingChangesNoBit) {
  int64_t swap_outs = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(seed));
    ASSERT_OK_AND_ASSIGN(const TrainedModel kept,
                         Train(network.graph, network));
    for (const LmsMode mode : {LmsMode::kV1, LmsMode::kV2}) {
      Graph swapped = network.graph;
      ASSERT_OK_AND_ASSIGN(const LmsReport report,
                           ApplyLms({.mode = mode,
                                     .swapout_threshold = 1,
                                     .swapin_ahead = 1,
                                     .swapin_groupby = 0},
                                    swapped));
      swap_outs += report.swap_outs;
      ASSERT_OK_AND_ASSIGN(const TrainedModel run, Train(swapped, network));
      EXPECT_EQ(run.losses, kept.losses);
      EXPECT_EQ(run.checksum, kept.checksum);
      EXPECT_EQ(run.copies.swap_outs, 2 * report.swap_outs);
      ExpectExactMemory(run);
    }
  }
  EXPECT_GT(swap_outs, 100);
}

}  // namespace
}  // namespace spillway
