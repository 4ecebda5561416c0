// A hand-made plan and test kernels, for tests of executors.
//
//   step         0      1       2        3        4        5
//   copy in      x(feed)                          back
//   compute             y = 2x           w = x+1           sum = w + back
//   copy out                    y->host
//   device  0    [== x ===============][=== w ================]  (in place)
//        4 KiB          [= y ========]           [= back ======]  shares y
//        8 KiB                                             [= sum]
//       12 KiB          [scratch]
#ifndef SPILLWAY_TESTS_EXECUTOR_TOY_PLAN_H_
#define SPILLWAY_TESTS_EXECUTOR_TOY_PLAN_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "executor/checked/checked_memory.h"
#include "executor/device/registry.h"
#include "executor/executor.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {

inline constexpr int64_t kChainElements = 1000;
inline constexpr int64_t kBytes = kChainElements * 4;
inline const TensorType kType = {DType::kFloat32, Shape({kChainElements})};

using RunFunction = std::function<absl::Status(const KernelContext&)>;

class FakeKernel final : public Kernel {
 public:
  explicit FakeKernel(RunFunction run) : run_(std::move(run)) {}
  absl::Status Run(const KernelContext& context) override {
    return run_(context);
  }

 private:
  const RunFunction run_;
};

inline absl::Status DoubleThroughScratch(const KernelContext& context) {
  auto* scratch = static_cast<float*>(context.workspace);
  for (int64_t i = 0; i < kChainElements; ++i) {
    scratch[i] = 2 * context.input<float>(0)[i];
  }
  std::copy(scratch, scratch + kChainElements, context.output<float>(0));
  return absl::OkStatus();
}

inline absl::Status AddOne(const KernelContext& context) {
  for (int64_t i = 0; i < kChainElements; ++i) {
    context.output<float>(0)[i] = context.input<float>(0)[i] + 1;
  }
  return absl::OkStatus();
}

inline absl::Status Sum(const KernelContext& context) {
  for (int64_t i = 0; i < kChainElements; ++i) {
    context.output<float>(0)[i] =
        context.input<float>(0)[i] + context.input<float>(1)[i];
  }
  return absl::OkStatus();
}

struct ToyPlanCase {
  std::string device = {};
  bool check_memory = false;
};

class ToyPlanTest : public ::testing::TestWithParam<ToyPlanCase> {
 protected:
  void SetUp() override {
    MakeGraph();
    MakePlan();
    kernels_.reserve(graph_.num_nodes());
    for (size_t i = 0; i < graph_.num_nodes(); ++i) kernels_.push_back(nullptr);
    SetKernel("y", DoubleThroughScratch);
    SetKernel("w", AddOne);
    SetKernel("sum", Sum);
    // A slow link: a lane that does not wait for a copy reads old bytes.
    device_ = NewDevice(GetParam().device,
                        {.threads = 1, .link_gigabytes_per_second = 0.02})
                  .value();
    // More than the plan needs, to distinguish used bytes from allocated ones.
    device_arena_ =
        Arena::Create(*device_, MemorySpace::kDevice, 32_KiB).value();
    host_arena_ = Arena::Create(*device_, MemorySpace::kHost, 8_KiB).value();
    if (!GetParam().check_memory) return;
    checked_memory_ = CheckedMemory::Create({.device = device_.get(),
                                             .device_arena = &device_arena_,
                                             .host_arena = &host_arena_})
                          .value();
  }

  NodeId AddNode(const std::string& name, const std::string& op,
                 std::vector<ValueId> inputs) {
    return graph_.AddNode({.name = name,
                           .op = op,
                           .inputs = std::move(inputs),
                           .outputs = {kType}});
  }
  ValueId ValueOf(const std::string& name) const {
    return graph_.output(*graph_.FindNode(name));
  }

  void MakeGraph() {
    AddNode("x", "Placeholder", {});
    AddNode("y", "Double", {ValueOf("x")});
    AddNode("y_host", "SwapOut", {ValueOf("y")});
    AddNode("w", "AddOne", {ValueOf("x")});
    AddNode("back", "SwapIn", {ValueOf("y_host")});
    AddNode("sum", "Sum", {ValueOf("w"), ValueOf("back")});
  }

  BufferId AddBuffer(const std::string& name, Space space, int64_t offset) {
    return plan_.buffers.push_back(
        {.name = name, .space = space, .offset = offset, .bytes = kBytes});
  }

  void AddStep(const std::string& node, StepKind kind, Lane lane,
               std::vector<BufferId> inputs, BufferId output,
               std::vector<StepId> waits) {
    plan_.steps.push_back(
        {.node = *graph_.FindNode(node),
         .kind = kind,
         .lane = lane,
         .inputs = std::move(inputs),
         .outputs = {output},
         .workspace = {},
         .feed = kind == StepKind::kFeed ? ValueOf(node) : ValueId(),
         .waits = std::move(waits)});
  }

  void MakePlan() {
    const BufferId x = AddBuffer("x and w", Space::kDevice, 0);
    const BufferId y = AddBuffer("y", Space::kDevice, 4_KiB);
    const BufferId host = AddBuffer("y_host", Space::kHost, 0);
    const BufferId back = AddBuffer("back", Space::kDevice, 4_KiB);
    const BufferId sum = AddBuffer("sum", Space::kDevice, 8_KiB);
    const BufferId scratch = AddBuffer("scratch", Space::kDevice, 12_KiB);
    AddStep("x", StepKind::kFeed, Lane::kCopyIn, {}, x, {});
    AddStep("y", StepKind::kCompute, Lane::kCompute, {x}, y, {StepId(0)});
    plan_.steps[StepId(1)].workspace = scratch;
    AddStep("y_host", StepKind::kSwapOut, Lane::kCopyOut, {y}, host,
            {StepId(1)});
    AddStep("w", StepKind::kCompute, Lane::kCompute, {x}, x, {});
    AddStep("back", StepKind::kSwapIn, Lane::kCopyIn, {host}, back,
            {StepId(2)});
    AddStep("sum", StepKind::kCompute, Lane::kCompute, {x, back}, sum,
            {StepId(4)});
    plan_.device_bytes = 12_KiB + kBytes;
    plan_.host_bytes = kBytes;
    plan_.fetches = {ValueOf("sum")};
    plan_.buffer_of.resize(graph_.num_values());
    plan_.buffer_of[ValueOf("sum")] = sum;
  }

  void SetKernel(const std::string& node, RunFunction run) {
    kernels_[*graph_.FindNode(node)] =
        std::make_unique<FakeKernel>(std::move(run));
  }

  absl::StatusOr<std::unique_ptr<Executor>> NewExecutor() {
    return Executor::Create(
        {.graph = &graph_,
         .plan = &plan_,
         .kernels = &kernels_,
         .device = device_.get(),
         .device_arena = &device_arena_,
         .host_arena = &host_arena_,
         .checked_memory = checked_memory_ ? &*checked_memory_ : nullptr,
         .ops = &ops_});
  }

  RunOptions Feed(const std::vector<float>& x) const {
    return {.feeds = {{ValueOf("x"), x.data()}}};
  }

  int64_t MeasuredBytes(Space space) const {
    if (checked_memory_) return checked_memory_->high_water_bytes(space);
    return (space == Space::kDevice ? device_arena_ : host_arena_)
        .high_water_bytes();
  }

  std::vector<float> ReadSum() {
    std::vector<float> sum(kChainElements);
    const auto stream = device_->NewStream({}).value();
    EXPECT_THAT(stream->CopyToHost(sum.data(), device_arena_.Use(8_KiB, kBytes),
                                   kBytes),
                IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    return sum;
  }

  // x = 0, 1, 2, ... times `scale`; the sum is x + 1 + 2x.
  static std::vector<float> Input(float scale) {
    std::vector<float> x(kChainElements);
    for (int64_t i = 0; i < kChainElements; ++i) {
      x[static_cast<size_t>(i)] = scale * static_cast<float>(i);
    }
    return x;
  }
  static std::vector<float> Expected(float scale) {
    std::vector<float> sum = Input(scale);
    for (float& value : sum) value = 3 * value + 1;
    return sum;
  }

  OpRegistry ops_;  // empty: no kernel may overwrite an input
  Graph graph_;
  ExecutionPlan plan_;
  KernelMap kernels_;
  std::unique_ptr<Device> device_;
  Arena device_arena_;
  Arena host_arena_;
  std::optional<CheckedMemory> checked_memory_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_EXECUTOR_TOY_PLAN_H_
