#include "ops/gpu/kernel/elementwise.cuh"
#include "ops/gpu/kernel/elementwise.h"

namespace spillway::gpu {
namespace {

// The arithmetic of ops/pointwise/activation_cpu.cc; a NaN passes through.
struct Elu {
  __device__ float operator()(float x) const { return x > 0 ? x : expm1f(x); }
};
struct Relu {
  __device__ float operator()(float x) const { return x < 0 ? 0.0F : x; }
};
struct Relu6 {
  __device__ float operator()(float x) const {
    const float positive = x < 0 ? 0.0F : x;
    return positive > 6 ? 6.0F : positive;
  }
};
struct Sigmoid {
  __device__ float operator()(float x) const { return 1 / (1 + expf(-x)); }
};
struct Tanh {
  __device__ float operator()(float x) const { return tanhf(x); }
};
struct EluGrad {
  __device__ float operator()(float dy, float y) const {
    return y > 0 ? dy : dy * (y + 1);
  }
};
struct ReluGrad {
  __device__ float operator()(float dy, float y) const {
    return y > 0 ? dy : 0.0F;
  }
};
struct Relu6Grad {
  __device__ float operator()(float dy, float y) const {
    return y > 0 && y < 6 ? dy : 0.0F;
  }
};
struct SigmoidGrad {
  __device__ float operator()(float dy, float y) const {
    return dy * y * (1 - y);
  }
};
struct TanhGrad {
  __device__ float operator()(float dy, float y) const {
    return dy * (1 - y * y);
  }
};

}  // namespace

LaunchError Unary(StreamHandle stream, UnaryFunction function, DType dtype,
                  const void* x, void* y, int64_t n) {
  const auto launch = [&](auto fn) {
    return LaunchMap(stream, fn, dtype, n, y, x);
  };
  switch (function) {
    case UnaryFunction::kElu:
      return launch(Elu());
    case UnaryFunction::kRelu:
      return launch(Relu());
    case UnaryFunction::kRelu6:
      return launch(Relu6());
    case UnaryFunction::kSigmoid:
      return launch(Sigmoid());
    case UnaryFunction::kTanh:
      return launch(Tanh());
  }
  return 0;
}

LaunchError Binary(StreamHandle stream, BinaryFunction function, DType dtype,
                   const void* a, const void* b, void* y, int64_t n) {
  const auto launch = [&](auto fn) {
    return LaunchMap(stream, fn, dtype, n, y, a, b);
  };
  switch (function) {
    case BinaryFunction::kEluGrad:
      return launch(EluGrad());
    case BinaryFunction::kReluGrad:
      return launch(ReluGrad());
    case BinaryFunction::kRelu6Grad:
      return launch(Relu6Grad());
    case BinaryFunction::kSigmoidGrad:
      return launch(SigmoidGrad());
    case BinaryFunction::kTanhGrad:
      return launch(TanhGrad());
  }
  return 0;
}

}  // namespace spillway::gpu
