// Sessions with a few ops made for the tests: two small programs, their
// kernels, and a fixture that is instantiated for each device.
#ifndef SPILLWAY_TESTS_EXECUTOR_TOY_SESSION_H_
#define SPILLWAY_TESTS_EXECUTOR_TOY_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {

inline absl::StatusOr<std::vector<TensorType>> TypeFromAttributes(
    const InferContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const DType dtype,
                            context.attributes.GetDType("dtype"));
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape,
                            context.attributes.GetShape("shape"));
  return std::vector<TensorType>{{dtype, shape}};
}

inline absl::StatusOr<std::vector<TensorType>> TypeOfFirstInput(
    const InferContext& context) {
  return std::vector<TensorType>{context.inputs[0]};
}

// Runs a function for each element of its outputs.
template <typename Function>
class ElementKernel final : public Kernel {
 public:
  ElementKernel(size_t elements, Function function)
      : elements_(elements), function_(function) {}
  absl::Status Run(const KernelContext& context) override {
    for (size_t i = 0; i < elements_; ++i) {
      SPILLWAY_RETURN_IF_ERROR(function_(context, i));
    }
    return absl::OkStatus();
  }

 private:
  const size_t elements_;
  const Function function_;
};

template <typename Function>
absl::StatusOr<std::unique_ptr<Kernel>> NewElementKernel(
    const KernelRequest& request, Function function) {
  return std::make_unique<ElementKernel<Function>>(
      static_cast<size_t>(request.outputs[0].num_elements()), function);
}

// y = a * b
inline absl::StatusOr<std::unique_ptr<Kernel>> NewMul(
    const KernelRequest& request) {
  return NewElementKernel(request, [](const KernelContext& context, size_t i) {
    context.output<float>(0)[i] =
        context.input<float>(0)[i] * context.input<float>(1)[i];
    return absl::OkStatus();
  });
}

// variable -= gradient; fails for a gradient of 13
inline absl::StatusOr<std::unique_ptr<Kernel>> NewDescend(
    const KernelRequest& request) {
  return NewElementKernel(request, [](const KernelContext& context, size_t i) {
    const float gradient = context.input<float>(1)[i];
    if (gradient == 13) return absl::InternalError("planted");
    context.mutable_input<float>(0)[i] -= gradient;
    return absl::OkStatus();
  });
}

// y = x + 1000 * seed + step
inline absl::StatusOr<std::unique_ptr<Kernel>> NewNoise(
    const KernelRequest& request) {
  return NewElementKernel(request, [](const KernelContext& context, size_t i) {
    context.output<float>(0)[i] = context.input<float>(0)[i] +
                                  1000 * static_cast<float>(context.seed) +
                                  static_cast<float>(*context.step);
    return absl::OkStatus();
  });
}

inline OpRegistry MakeOps() {
  OpRegistry ops;
  ops.Add({.name = std::string(kPlaceholder),
           .outputs = {"y"},
           .attributes = {"dtype", "shape"},
           .infer = TypeFromAttributes});
  ops.Add({.name = std::string(kVariable),
           .outputs = {"y"},
           .attributes = {"dtype", "shape", "initializer"},
           .infer = TypeFromAttributes,
           .resident = true});
  ops.Add({.name = std::string(kConst),
           .outputs = {"y"},
           .attributes = {"dtype", "shape", "value"},
           .infer = TypeFromAttributes,
           .resident = true});
  ops.Add({.name = "Mul",
           .inputs = {"a", "b"},
           .outputs = {"y"},
           .infer = TypeOfFirstInput});
  ops.Add({.name = "Descend",
           .inputs = {"variable", "gradient"},
           .outputs = {"y"},
           .infer = TypeOfFirstInput,
           .alias = {{.input = 0, .output = 0}},
           .mutates = {0}});
  for (const std::string_view name : {std::string_view("Noise"), kSwapOut}) {
    ops.Add({.name = std::string(name),
             .inputs = {"x"},
             .outputs = {"y"},
             .infer = TypeOfFirstInput});
  }
  return ops;
}

inline KernelRegistry MakeKernels() {
  KernelRegistry kernels;
  kernels.Add("Mul", DeviceKind::kCpu, NewMul);
  kernels.Add("Descend", DeviceKind::kCpu, NewDescend);
  kernels.Add("Noise", DeviceKind::kCpu, NewNoise);
  return kernels;
}

// Forwards to a real device and reports whether memory was allocated, even
// after the session has destroyed it.
class SpyDevice final : public Device {
 public:
  SpyDevice(std::unique_ptr<Device> device, int64_t* asked)
      : device_(std::move(device)), asked_(asked) {}
  std::string_view name() const override { return device_->name(); }
  DeviceKind kind() const override { return device_->kind(); }
  bool host_addressable() const override { return device_->host_addressable(); }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      MemorySpace space, int64_t bytes) override {
    *asked_ += bytes;
    return device_->Allocate(space, bytes);
  }
  absl::StatusOr<int64_t> FreeBytes() const override {
    return device_->FreeBytes();
  }
  int64_t allocations() const override { return device_->allocations(); }
  std::optional<int> kernel_threads() const override {
    return device_->kernel_threads();
  }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream(
      const StreamOptions& options) override {
    return device_->NewStream(options);
  }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(
      const EventOptions& options) override {
    return device_->NewEvent(options);
  }

 private:
  const std::unique_ptr<Device> device_;
  int64_t* const asked_;
};

inline constexpr int64_t kElements =
    64;  // 256 bytes: no padding in the sums below

// Attributes of a Const, or of a Variable, whose elements are initially
// `value`.
inline Attributes ConstantOf(double value) {
  return {{"dtype", DType::kFloat32},
          {"shape", Shape({kElements})},
          {"value", value}};
}
inline Attributes VariableOf(double value) {
  return {{"dtype", DType::kFloat32},
          {"shape", Shape({kElements})},
          {"initializer",
           AttributeValue::Object{{"kind", "constant"}, {"value", value}}}};
}

// w (variable, 10) -= x * c (constant); fetches the product and w.
// Residents w, c; then x, product.
struct TrainProgram {
  explicit TrainProgram(const OpRegistry& ops, double constant = 2)
      : builder(ops, "train") {
    x = builder.Placeholder("x", DType::kFloat32, {kElements});
    unused = builder.Placeholder("unused", DType::kFloat32, {kElements});
    w = builder.Add(builder, {.op = std::string(kVariable),
                              .attributes = VariableOf(10),
                              .name = "w"});
    c = builder.Add(builder, {.op = std::string(kConst),
                              .attributes = ConstantOf(constant),
                              .name = "c"});
    product = builder.Add(builder,
                          {.op = "Mul", .inputs = {x, c}, .name = "product"});
    updated = builder.Add(
        builder, {.op = "Descend", .inputs = {w, product}, .name = "update"});
  }

  Program Build() && {
    return {.graph = std::move(builder).Build().value(),
            .fetches = {product.id(), updated.id()}};
  }

  GraphBuilder builder;
  Tensor x, unused, w, c, product, updated;
};

// y = x * w, and noise added to it.
struct EvalProgram {
  explicit EvalProgram(const OpRegistry& ops) : builder(ops, "eval") {
    w = builder.Add(builder, {.op = std::string(kVariable),
                              .attributes = VariableOf(99),
                              .name = "w"});
    x = builder.Placeholder("x", DType::kFloat32, {kElements});
    c = builder.Add(
        builder,
        {.op = std::string(kConst), .attributes = ConstantOf(5), .name = "c"});
    y = builder.Add(builder, {.op = "Mul", .inputs = {x, w}, .name = "y"});
    z = builder.Add(builder, {.op = "Mul", .inputs = {x, c}, .name = "z"});
    noisy = builder.Add(builder, {.op = "Noise", .inputs = {x}});
  }

  Program Build() && {
    return {.graph = std::move(builder).Build().value(),
            .fetches = {y.id(), z.id(), noisy.id()}};
  }

  GraphBuilder builder;
  Tensor w, x, c, y, z, noisy;
};

struct ToySessionCase {
  std::string device = {};
  bool check_memory = false;
};

// The SessionOptions that these tests vary. The toy ops are passed explicitly,
// since the standard ones are not linked.
struct ToySessionOptions {
  std::optional<int64_t> device_memory = {};
  std::optional<int64_t> host_memory = {};
  int threads = 1;
  uint64_t seed = 0;
  std::vector<std::string> own_variables = {};
};

class ToySessionTest : public ::testing::TestWithParam<ToySessionCase> {
 protected:
  absl::StatusOr<std::unique_ptr<Session>> NewSession(
      std::vector<Program> programs, const ToySessionOptions& options = {},
      int64_t capacity_bytes = 0) {
    SPILLWAY_ASSIGN_OR_RETURN(
        std::unique_ptr<Device> device,
        NewDevice(GetParam().device,
                  {.threads = 1, .capacity_bytes = capacity_bytes}));
    return Session::Create(
        std::move(programs),
        std::make_unique<SpyDevice>(std::move(device), &asked_bytes_),
        {.ops = &ops_,
         .kernels = &kernels_,
         .device_memory = options.device_memory,
         .host_memory = options.host_memory,
         .threads = options.threads,
         .seed = options.seed,
         .own_variables = options.own_variables,
         .check_memory = GetParam().check_memory});
  }

  std::unique_ptr<Session> NewTrainSession(
      const ToySessionOptions& options = {}) {
    std::vector<Program> programs;
    programs.push_back(TrainProgram(ops_).Build());
    return NewSession(std::move(programs), options).value();
  }

  // A tensor of equal elements that lives as long as the test.
  TensorView Filled(float value, int64_t elements = kElements) {
    tensors_.push_back(std::make_unique<std::vector<float>>(
        static_cast<size_t>(elements), value));
    return {.type = {DType::kFloat32, Shape({elements})},
            .data = tensors_.back()->data()};
  }

  // The value of all elements of a tensor.
  static float Only(const HostTensor& tensor) {
    const auto* data = tensor.data<float>();
    for (int64_t i = 1; i < tensor.type.num_elements(); ++i) {
      EXPECT_EQ(data[i], data[0]);
    }
    return data[0];
  }

  const OpRegistry ops_ = MakeOps();
  const KernelRegistry kernels_ = MakeKernels();
  const TrainProgram ids_{ops_};  // the ids of every TrainProgram
  std::vector<std::unique_ptr<std::vector<float>>> tensors_;
  int64_t asked_bytes_ = 0;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_EXECUTOR_TOY_SESSION_H_
