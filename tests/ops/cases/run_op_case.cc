#include "tests/ops/cases/run_op_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "base/bfloat16.h"
#include "base/check.h"
#include "base/float16.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "comm/thread_communicator.h"
#include "executor/kernel_registry.h"
#include "executor/parts_kernel.h"
#include "graph/input_groups.h"
#include "ops/all_ops.h"
#include "tests/support/guarded_buffer.h"

namespace spillway::testing {
namespace {

double UniformAt(uint64_t key, uint64_t index) {
  return UniformFloat(Philox4x32(key, index)[0]);
}

// Evenly spaced numbers in a fixed random order.
Doubles Shuffled(uint64_t key, int64_t n, double low, double high) {
  Doubles data(static_cast<size_t>(n));
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] =
        low + (high - low) * static_cast<double>(i) / static_cast<double>(n);
    std::swap(data[i], data[static_cast<size_t>(UniformAt(key, i) *
                                                static_cast<double>(i + 1))]);
  }
  return data;
}

Doubles MakeData(const CaseInput& input, uint64_t key) {
  const int64_t n = input.type.num_elements();
  if (input.fill == Fill::kValues) return input.values;
  if (input.fill == Fill::kDistinct) {
    return Shuffled(key, n, input.low, input.high);
  }
  Doubles data;
  for (uint64_t i = 0; i < static_cast<uint64_t>(n); ++i) {
    const double uniform =
        input.low + (input.high - input.low) * UniformAt(key, i);
    data.push_back(input.fill == Fill::kNormal ? input.high * NormalAt(key, i)
                   : input.fill == Fill::kIntegers ? std::floor(uniform)
                                                   : uniform);
  }
  return data;
}

template <typename T>
T FromDouble(double x) {
  return static_cast<T>(x);
}
template <>
BFloat16 FromDouble(double x) {
  return ToBFloat16(static_cast<float>(x));
}
template <>
Float16 FromDouble(double x) {
  return ToFloat16(static_cast<float>(x));
}

template <typename T>
HostTensor Convert(const TensorType& type, const Doubles& data) {
  HostTensor tensor{.type = type,
                    .bytes = std::vector<std::byte>(data.size() * sizeof(T))};
  std::byte* to = tensor.bytes.data();
  for (const double x : data) {
    const T item = FromDouble<T>(x);
    std::memcpy(to, &item, sizeof(T));
    to += sizeof(T);
  }
  return tensor;
}

template <typename T>
Doubles Widen(const HostTensor& tensor) {
  const T* data = tensor.data<T>();
  return {data, data + tensor.type.num_elements()};
}

HostTensor Read(const TensorType& type, const std::byte* bytes) {
  return {.type = type, .bytes = {bytes, bytes + type.num_bytes()}};
}

// The memory of one run: inputs, outputs and workspace.
class Buffers {
 public:
  Buffers(const OpCase& op_case, const std::vector<HostTensor>& inputs,
          const RunOpOptions& options) {
    for (const HostTensor& input : inputs) {
      inputs_.push_back(Allocate(input.type.num_bytes()));
      std::memcpy(inputs_.back(), input.bytes.data(), input.bytes.size());
    }
    for (const TensorType& type : op_case.outputs) {
      outputs_.push_back(Allocate(type.num_bytes()));
    }
    for (const BufferPair& pair :
         AliasesOf(*StandardOps().Find(op_case.op), inputs.size())) {
      Share(pair);
    }
    for (const BufferPair& pair : options.in_place) Share(pair);
  }

  absl::Status Run(Kernel& kernel) {
    const std::unique_ptr<Communicator> communicator = NewSelfCommunicator();
    SPILLWAY_RETURN_IF_ERROR(
        kernel.Run({.inputs = inputs_,
                    .outputs = outputs_,
                    .workspace = Allocate(kernel.workspace_bytes()),
                    .seed = kCaseSeed,
                    .step = &kCaseStep,
                    .communicator = communicator.get()}));
    const bool intact = std::ranges::all_of(
        owned_, [](const GuardedBuffer& b) { return b.guards_intact(); });
    return intact ? absl::OkStatus() : Internal("wrote outside its buffers");
  }

  const std::byte* input(size_t i) const {
    return static_cast<const std::byte*>(inputs_[i]);
  }
  const std::byte* output(size_t i) const {
    return static_cast<const std::byte*>(outputs_[i]);
  }

 private:
  void* Allocate(int64_t num_bytes) {
    return owned_.emplace_back(num_bytes).data();
  }
  void Share(const BufferPair& pair) {
    outputs_[static_cast<size_t>(pair.output)] =
        inputs_[static_cast<size_t>(pair.input)];
  }

  std::vector<GuardedBuffer> owned_;
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
};

// T: a float type shorter than float32.
template <typename T>
Doubles WidenShort(const HostTensor& tensor) {
  Doubles wide;
  for (int64_t i = 0; i < tensor.type.num_elements(); ++i) {
    wide.push_back(ToFloat(tensor.data<T>()[i]));
  }
  return wide;
}

}  // namespace

HostTensor FromDoubles(const TensorType& type, const Doubles& data) {
  SPILLWAY_CHECK(static_cast<int64_t>(data.size()) == type.num_elements());
  switch (type.dtype) {
    case DType::kFloat32:
      return Convert<float>(type, data);
    case DType::kBFloat16:
      return Convert<BFloat16>(type, data);
    case DType::kFloat16:
      return Convert<Float16>(type, data);
    case DType::kInt32:
      return Convert<int32_t>(type, data);
    case DType::kInt64:
      return Convert<int64_t>(type, data);
    case DType::kUInt8:
      return Convert<uint8_t>(type, data);
    case DType::kBool:
      return Convert<bool>(type, data);
  }
  SPILLWAY_CHECK(!"a dtype that is none");
}

std::vector<HostTensor> MakeInputs(const OpCase& op_case) {
  std::vector<HostTensor> inputs;
  for (const CaseInput& input : op_case.inputs) {
    const uint64_t key = MixKeys(HashName(op_case.name), inputs.size());
    inputs.push_back(FromDoubles(input.type, MakeData(input, key)));
  }
  return inputs;
}

Doubles ToDoubles(const HostTensor& tensor) {
  switch (tensor.type.dtype) {
    case DType::kFloat32:
      return Widen<float>(tensor);
    case DType::kBFloat16:
      return WidenShort<BFloat16>(tensor);
    case DType::kFloat16:
      return WidenShort<Float16>(tensor);
    case DType::kInt32:
      return Widen<int32_t>(tensor);
    case DType::kInt64:
      return Widen<int64_t>(tensor);
    case DType::kUInt8:
    case DType::kBool:
      return Widen<uint8_t>(tensor);
  }
  SPILLWAY_CHECK(!"a dtype that is none");
}

namespace {

// Null: the op needs no kernel.
absl::StatusOr<std::unique_ptr<Kernel>> MakeKernelOf(
    const OpCase& op_case, const RunOpOptions& options) {
  const KernelFactory factory =
      options.factory != nullptr
          ? options.factory
          : StandardKernels().Find(op_case.op, DeviceKind::kCpu);
  if (factory == nullptr) return nullptr;
  std::vector<TensorType> types;
  for (const CaseInput& input : op_case.inputs) types.push_back(input.type);
  return PrepareFromFactory(*StandardOps().Find(op_case.op),
                            {.attributes = op_case.attributes,
                             .inputs = types,
                             .outputs = op_case.outputs,
                             .threads = options.threads,
                             .math = options.math,
                             .algorithm = options.algorithm},
                            factory, options.slice);
}

}  // namespace

absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms(
    const OpCase& op_case, const RunOpOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                            MakeKernelOf(op_case, options));
  if (kernel == nullptr) return std::vector<KernelAlgorithm>();
  return kernel->ListAlgorithms();
}

std::vector<std::vector<BufferPair>> InPlaceChoices(const OpCase& op_case) {
  const OpDef& def = *StandardOps().Find(op_case.op);
  std::vector<TensorType> types;
  for (const CaseInput& input : op_case.inputs) types.push_back(input.type);
  if (def.in_place_legal != nullptr &&
      !def.in_place_legal({.attributes = op_case.attributes,
                           .inputs = types,
                           .outputs = op_case.outputs})) {
    return {};
  }
  std::vector<std::vector<BufferPair>> choices;
  for (const BufferPair& pair : def.in_place) {
    const auto input = static_cast<size_t>(pair.input);
    const auto output = static_cast<size_t>(pair.output);
    if (input >= types.size() || output >= op_case.outputs.size() ||
        types[input].num_bytes() != op_case.outputs[output].num_bytes()) {
      continue;
    }
    const size_t num_smaller = def.in_place_together ? choices.size() : 0;
    for (size_t i = 0; i < num_smaller; ++i) {
      const bool is_free =
          std::ranges::none_of(choices[i], [&](const BufferPair& other) {
            return other.input == pair.input || other.output == pair.output;
          });
      if (!is_free) continue;
      std::vector<BufferPair> larger = choices[i];
      larger.push_back(pair);
      choices.push_back(std::move(larger));
    }
    choices.push_back({pair});
  }
  return choices;
}

absl::StatusOr<OpRun> RunOpCase(const OpCase& op_case,
                                const RunOpOptions& options) {
  const std::vector<HostTensor> inputs = MakeInputs(op_case);
  Buffers buffers(op_case, inputs, options);
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                            MakeKernelOf(op_case, options));
  if (kernel != nullptr) SPILLWAY_RETURN_IF_ERROR(buffers.Run(*kernel));
  OpRun run;
  for (size_t i = 0; i < inputs.size(); ++i) {
    run.inputs.push_back(Read(inputs[i].type, buffers.input(i)));
  }
  for (size_t i = 0; i < op_case.outputs.size(); ++i) {
    run.outputs.push_back(Read(op_case.outputs[i], buffers.output(i)));
  }
  return run;
}

}  // namespace spillway::testing
