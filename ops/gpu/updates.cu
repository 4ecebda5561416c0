#include "ops/gpu/storage.cuh"
#include "ops/gpu/updates.h"

namespace spillway::gpu {
namespace {

using FloatVector = Vector<float>;

// fn(gradient, &variable, &slots...) of the elements of one vector each.
template <typename Fn, typename... Vectors>
__device__ void UpdateVector(const Fn& fn, const FloatVector& gradient,
                             Vectors&... in_memory) {
  [&](auto... loaded) {
    for (int i = 0; i < FloatVector::kSize; ++i) {
      fn(gradient.items[i], loaded.items[i]...);
    }
    ((in_memory = loaded), ...);
  }(in_memory...);
}

// The same of n elements; `changed` is the variable, then its slots. The last
// elements, too few for a vector, are the first threads'.
template <typename Fn, typename... Floats>
__global__ void UpdateKernel(Fn fn, int64_t n, const float* gradient,
                             Floats*... changed) {
  const int64_t vectors = n / FloatVector::kSize;
  ForEachItem(vectors, [&](int64_t v) {
    UpdateVector(fn, reinterpret_cast<const FloatVector*>(gradient)[v],
                 reinterpret_cast<FloatVector*>(changed)[v]...);
  });
  ForEachItem(n - vectors * FloatVector::kSize, [&](int64_t i) {
    const int64_t at = vectors * FloatVector::kSize + i;
    fn(gradient[at], changed[at]...);
  });
}

template <typename Fn, typename... Floats>
LaunchError LaunchUpdate(StreamHandle stream, Fn fn,
                         const UpdateTensors& tensors, Floats*... slots) {
  return Launch(stream, UpdateKernel<Fn, float, Floats...>,
                dim3(BlocksFor(tensors.n, FloatVector::kSize)), dim3(kThreads),
                fn, tensors.n, tensors.gradient, tensors.variable, slots...);
}

struct GradientDescent {
  GradientDescentUpdate options;
  const float* learning_rate;
  __device__ void operator()(float gradient, float& variable) const {
    const float g = gradient + options.weight_decay * variable;
    variable -= *learning_rate * g;
  }
};

struct Momentum {
  MomentumUpdate options;
  const float* learning_rate;
  __device__ void operator()(float gradient, float& variable,
                             float& accumulator) const {
    const float g = gradient + options.weight_decay * variable;
    accumulator = options.momentum * accumulator + g;
    const float step =
        options.use_nesterov ? g + options.momentum * accumulator : accumulator;
    variable -= *learning_rate * step;
  }
};

// After AdvancePowers.
struct Adam {
  AdamUpdate options;
  const float* learning_rate;
  __device__ void operator()(float gradient, float& variable, float& m,
                             float& v) const {
    const float rate = *learning_rate * sqrtf(1 - options.beta_power[1]) /
                       (1 - options.beta_power[0]);
    const float g = gradient + options.weight_decay * variable;
    m = options.beta1 * m + (1 - options.beta1) * g;
    v = options.beta2 * v + (1 - options.beta2) * g * g;
    variable -= rate * m / (sqrtf(v) + options.epsilon);
  }
};

// A launch of its own: every thread of the update reads both powers.
__global__ void AdvancePowers(float beta1, float beta2, float* beta_power) {
  beta_power[0] *= beta1;
  beta_power[1] *= beta2;
}

struct RmsProp {
  RmsPropUpdate options;
  const float* learning_rate;
  __device__ void operator()(float gradient, float& variable,
                             float& mean_square, float& accumulator) const {
    const float g = gradient + options.weight_decay * variable;
    mean_square = options.decay * mean_square + (1 - options.decay) * g * g;
    accumulator = options.momentum * accumulator +
                  *learning_rate * g / sqrtf(mean_square + options.epsilon);
    variable -= accumulator;
  }
};

}  // namespace

LaunchError Update(StreamHandle stream, const GradientDescentUpdate& options,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, GradientDescent{options, tensors.learning_rate},
                      tensors);
}

LaunchError Update(StreamHandle stream, const MomentumUpdate& options,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, Momentum{options, tensors.learning_rate}, tensors,
                      options.accumulator);
}

LaunchError Update(StreamHandle stream, const AdamUpdate& options,
                   const UpdateTensors& tensors) {
  const LaunchError error =
      Launch(stream, AdvancePowers, dim3(1), dim3(1), options.beta1,
             options.beta2, options.beta_power);
  if (error != 0) return error;
  return LaunchUpdate(stream, Adam{options, tensors.learning_rate}, tensors,
                      options.m, options.v);
}

LaunchError Update(StreamHandle stream, const RmsPropUpdate& options,
                   const UpdateTensors& tensors) {
  return LaunchUpdate(stream, RmsProp{options, tensors.learning_rate}, tensors,
                      options.mean_square, options.accumulator);
}

}  // namespace spillway::gpu
