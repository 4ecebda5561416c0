#include "ops/gpu/kernel/lars_ratios.h"
#include "ops/gpu/kernel/updates.h"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

using FloatVector = Vector<float>;

// Tensors are split into chunks of so many elements, one vector for each thread
// of a block, so that blocks have equal work whatever the sizes are.
constexpr int64_t kChunk = int64_t{kThreads} * FloatVector::kSize;

// The tensors of a launch, for rules with kSlots slots of their shape.
template <int kSlots>
struct UpdateTable {
  int count = 0;
  // Number of chunks before each tensor; the last entry counts all.
  int64_t first_chunk[kMostUpdateTensors + 1] = {};
  int64_t n[kMostUpdateTensors] = {};
  const float* gradient[kMostUpdateTensors] = {};
  float* changed[1 + kSlots][kMostUpdateTensors] = {};  // the variable first
};

template <int kSlots>
UpdateTable<kSlots> MakeTable(const UpdateTensors& tensors) {
  UpdateTable<kSlots> table;
  table.count = tensors.count;
  for (int i = 0; i < tensors.count; ++i) {
    const UpdateTensor& tensor = tensors.tensors[i];
    const int64_t chunks = (tensor.n + kChunk - 1) / kChunk;
    table.first_chunk[i + 1] = table.first_chunk[i] + chunks;
    table.n[i] = tensor.n;
    table.gradient[i] = tensor.gradient;
    table.changed[0][i] = tensor.variable;
    for (int slot = 0; slot < kSlots; ++slot) {
      table.changed[1 + slot][i] = tensor.slots[slot];
    }
  }
  return table;
}

// The last tensor whose chunks begin at or before `chunk`: the one that
// contains it, since a tensor without elements has no chunk.
template <int kSlots>
__device__ int TensorOf(const UpdateTable<kSlots>& table, int64_t chunk) {
  int low = 0;
  int high = table.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (table.first_chunk[middle] <= chunk) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Calls fn(rate, gradient, variable&, slots&...) for each element of a vector.
template <typename Fn, typename Rate, typename... Vectors>
__device__ void UpdateVector(const Fn& fn, const Rate& rate,
                             const FloatVector& gradient,
                             Vectors&... in_memory) {
  [&](auto... loaded) {
    for (int i = 0; i < FloatVector::kSize; ++i) {
      fn(rate, gradient.items[i], loaded.items[i]...);
    }
    ((in_memory = loaded), ...);
  }(in_memory...);
}

// The thread's part of the chunk that begins at element `begin` of a tensor of
// n elements: a vector, or the remaining elements if they are too few for one.
template <typename Fn, typename Rate, typename... Floats>
__device__ void UpdateChunk(const Fn& fn, const Rate& rate, int64_t begin,
                            int64_t n, const float* gradient,
                            Floats*... changed) {
  const int64_t at = begin + int64_t{threadIdx.x} * FloatVector::kSize;
  if (at + FloatVector::kSize <= n) {
    const int64_t v = at / FloatVector::kSize;
    UpdateVector(fn, rate, reinterpret_cast<const FloatVector*>(gradient)[v],
                 reinterpret_cast<FloatVector*>(changed)[v]...);
    return;
  }
  for (int64_t i = at; i < n; ++i) fn(rate, gradient[i], changed[i]...);
}

template <typename Fn>
__global__ void UpdateKernel(Fn fn, UpdateTable<Fn::kSlots> table) {
  const int64_t chunks = table.first_chunk[table.count];
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const int t = TensorOf(table, chunk);
    const int64_t begin = (chunk - table.first_chunk[t]) * kChunk;
    const auto rate = fn.Rate(t);
    if constexpr (Fn::kSlots == 0) {
      UpdateChunk(fn, rate, begin, table.n[t], table.gradient[t],
                  table.changed[0][t]);
    } else if constexpr (Fn::kSlots == 1) {
      UpdateChunk(fn, rate, begin, table.n[t], table.gradient[t],
                  table.changed[0][t], table.changed[1][t]);
    } else {
      UpdateChunk(fn, rate, begin, table.n[t], table.gradient[t],
                  table.changed[0][t], table.changed[1][t],
                  table.changed[2][t]);
    }
  }
}

template <typename Fn>
LaunchError LaunchUpdate(StreamHandle stream, const Fn& fn,
                         const UpdateTensors& tensors) {
  const UpdateTable<Fn::kSlots> table = MakeTable<Fn::kSlots>(tensors);
  static_assert(sizeof(fn) + sizeof(table) <= 4096);
  const int64_t chunks = table.first_chunk[table.count];
  return Launch(stream, UpdateKernel<Fn>, dim3(BlocksFor(chunks * kThreads)),
                dim3(kThreads), fn, table);
}

__device__ float Gradient(const GradientRule& rule, float gradient,
                          float variable) {
  return rule.scale * gradient + rule.weight_decay * variable;
}

struct SumWeights {
  float of_sum;
  float of_gradient;
};

struct Accumulate {
  static constexpr int kSlots = 0;
  const float* weights;

  __device__ SumWeights Rate(int /*tensor*/) const {
    return {weights[0], weights[1]};
  }
  __device__ void operator()(const SumWeights& weight, float gradient,
                             float& sum) const {
    const float added = weight.of_gradient * gradient;
    sum = weight.of_sum == 0 ? added : weight.of_sum * sum + added;
  }
};

struct GradientDescent {
  static constexpr int kSlots = 0;
  GradientRule rule;
  const float* learning_rate;

  __device__ float Rate(int /*tensor*/) const { return *learning_rate; }
  __device__ void operator()(float rate, float gradient,
                             float& variable) const {
    variable -= rate * Gradient(rule, gradient, variable);
  }
};

struct Momentum {
  static constexpr int kSlots = 1;
  MomentumRule rule;
  const float* learning_rate;

  __device__ float Rate(int /*tensor*/) const { return *learning_rate; }
  __device__ void operator()(float rate, float gradient, float& variable,
                             float& accumulator) const {
    const float g = Gradient(rule.gradient, gradient, variable);
    accumulator = rule.momentum * accumulator + g;
    const float step =
        rule.use_nesterov ? g + rule.momentum * accumulator : accumulator;
    variable -= rate * step;
  }
};

struct Velocity {
  static constexpr int kSlots = 1;
  VelocityRule rule;
  const float* learning_rate;
  const double* ratios = nullptr;  // of the tensors; null: all are 1

  __device__ float Rate(int tensor) const {
    return ratios == nullptr
               ? *learning_rate
               : static_cast<float>(*learning_rate * ratios[tensor]);
  }
  __device__ void operator()(float rate, float gradient, float& variable,
                             float& velocity) const {
    const float g = Gradient(rule.gradient, gradient, variable);
    const float old = velocity;
    velocity = rule.momentum * old - rate * g;
    variable += rule.of_old() * old + rule.of_new() * velocity;
  }
};

struct Adagrad {
  static constexpr int kSlots = 1;
  AdagradRule rule;
  const float* learning_rate;

  __device__ float Rate(int /*tensor*/) const { return *learning_rate; }
  __device__ void operator()(float rate, float gradient, float& variable,
                             float& accumulator) const {
    const float g = Gradient(rule.gradient, gradient, variable);
    accumulator += g * g;
    variable -= rate * g / (sqrtf(accumulator) + rule.epsilon);
  }
};

struct AdamRates {
  float step;  // corrected
  float kept;  // of the variable, by the decoupled decay
};

// Runs after AdvancePowers.
struct Adam {
  static constexpr int kSlots = 2;
  AdamRule rule;
  const float* learning_rate;
  const float* beta_power[kMostUpdateTensors];

  __device__ AdamRates Rate(int tensor) const {
    const float* power = beta_power[tensor];
    const float rate = *learning_rate;
    return {rate * sqrtf(1 - power[1]) / (1 - power[0]),
            1 - rate * rule.decoupled_weight_decay};
  }
  __device__ void operator()(const AdamRates& rates, float gradient,
                             float& variable, float& m, float& v) const {
    const float g = Gradient(rule.gradient, gradient, variable);
    m = rule.beta1 * m + (1 - rule.beta1) * g;
    v = rule.beta2 * v + (1 - rule.beta2) * g * g;
    variable =
        rates.kept * variable - rates.step * m / (sqrtf(v) + rule.epsilon);
  }
};

struct BetaPowers {
  int count = 0;
  float* of[kMostUpdateTensors] = {};
};

// A separate launch: every thread of the update reads both powers.
__global__ void AdvancePowers(float beta1, float beta2, BetaPowers powers) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= powers.count) return;
  powers.of[i][0] *= beta1;
  powers.of[i][1] *= beta2;
}

struct RmsProp {
  static constexpr int kSlots = 2;
  RmsPropRule rule;
  const float* learning_rate;

  __device__ float Rate(int /*tensor*/) const { return *learning_rate; }
  __device__ void operator()(float rate, float gradient, float& variable,
                             float& mean_square, float& accumulator) const {
    const float g = Gradient(rule.gradient, gradient, variable);
    mean_square = rule.decay * mean_square + (1 - rule.decay) * g * g;
    accumulator = rule.momentum * accumulator +
                  rate * g / sqrtf(mean_square + rule.epsilon);
    variable -= accumulator;
  }
};

}  // namespace

LaunchError Update(StreamHandle stream, const AccumulateRule& /*rule*/,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, Accumulate{tensors.shared}, tensors);
}

LaunchError Update(StreamHandle stream, const GradientRule& rule,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, GradientDescent{rule, tensors.shared}, tensors);
}

LaunchError Update(StreamHandle stream, const MomentumRule& rule,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, Momentum{rule, tensors.shared}, tensors);
}

LaunchError Update(StreamHandle stream, const VelocityRule& rule,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, Velocity{rule, tensors.shared}, tensors);
}

LaunchError Update(StreamHandle stream, const LarsRule& rule,
                   const UpdateTensors& tensors) {
  Velocity velocity = {rule.velocity, tensors.shared};
  const LaunchError error = LarsRatios(stream, rule, tensors, &velocity.ratios);
  if (error != 0) return error;
  return LaunchUpdate(stream, velocity, tensors);
}

LaunchError Update(StreamHandle stream, const AdagradRule& rule,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, Adagrad{rule, tensors.shared}, tensors);
}

LaunchError Update(StreamHandle stream, const AdamRule& rule,
                   const UpdateTensors& tensors) {
  Adam adam = {rule, tensors.shared, {}};
  BetaPowers powers = {.count = tensors.count};
  for (int i = 0; i < tensors.count; ++i) {
    powers.of[i] = tensors.tensors[i].slots[2];
    adam.beta_power[i] = powers.of[i];
  }
  const LaunchError error =
      Launch(stream, AdvancePowers, dim3(1), dim3(kMostUpdateTensors),
             rule.beta1, rule.beta2, powers);
  if (error != 0) return error;
  return LaunchUpdate(stream, adam, tensors);
}

LaunchError Update(StreamHandle stream, const RmsPropRule& rule,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, RmsProp{rule, tensors.shared}, tensors);
}

}  // namespace spillway::gpu
