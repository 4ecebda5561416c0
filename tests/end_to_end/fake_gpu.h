// Training on the cuda backend without a GPU: its device on a fake runtime, its
// kernels as fibers. Ops for which a GPU uses a library (convolutions,
// products) borrow the CPU's kernels.
#ifndef SPILLWAY_TESTS_END_TO_END_FAKE_GPU_H_
#define SPILLWAY_TESTS_END_TO_END_FAKE_GPU_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/device/cuda/cuda_device.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "ops/gpu/factories.h"
#include "ops/linear/conv.h"
#include "ops/linear/matmul.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/cuda_emulation.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/float16_kernel.h"
#include "tests/support/random_network.h"

namespace spillway::testing {

// The runtime of the running test.
inline FakeCuda* present_cuda = nullptr;
// The result of the borrowed kernels, which then do not run; OK: they run.
inline absl::Status planted_kernel_error;

// A CPU kernel that a stream of the fake runs.
class BorrowedKernel final : public Kernel {
 public:
  explicit BorrowedKernel(std::unique_ptr<Kernel> kernel)
      : kernel_(std::move(kernel)) {}

  int64_t workspace_bytes() const override {
    return kernel_->workspace_bytes();
  }

  absl::Status Run(const KernelContext& context) override {
    SPILLWAY_RETURN_IF_ERROR(planted_kernel_error);
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
          SPILLWAY_CHECK(kernel_->Run(own).ok());
        });
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
};

template <KernelFactory kOnCpu>
absl::StatusOr<std::unique_ptr<Kernel>> Borrow(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                            PrepareWithFloat16(kOnCpu, node));
  return std::make_unique<BorrowedKernel>(std::move(kernel));
}

inline const KernelRegistry& GpuKernels() {
  static const KernelRegistry kernels = [] {
    KernelRegistry made =
        StandardKernels();  // nodes on the host have the CPU's
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

class FakeGpuTest : public ::testing::Test {
 protected:
  FakeGpuTest() {
    present_cuda = &cuda_;
    planted_kernel_error = absl::OkStatus();
    cuda_emulation::SetQueue([](void* stream, std::function<void()> work) {
      present_cuda->Submit(stream, std::move(work));
    });
  }

  absl::StatusOr<std::unique_ptr<Session>> NewSession(Program program,
                                                      bool capture_steps) {
    SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                              NewCudaDevice(cuda_, 0, {}));
    std::vector<Program> programs;
    programs.push_back(std::move(program));
    return Session::Create(std::move(programs), std::move(device),
                           {.ops = &StandardOps(),
                            .kernels = &GpuKernels(),
                            .threads = 1,
                            .seed = 5,
                            .capture_steps = capture_steps});
  }

  static TrainGraphSpec SpecOf(const RandomNetwork& network, int steps) {
    return {.num_classes = network.num_classes, .steps = steps, .threads = 1};
  }

  FakeCuda cuda_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_END_TO_END_FAKE_GPU_H_
