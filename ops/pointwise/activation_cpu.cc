#include <cmath>

#include "ops/cpu/elementwise.h"
#include "ops/pointwise/activation.h"

// Comparisons are written so that a NaN passes through and that each loop is
// vectorised to minimum, maximum or select instructions.
namespace spillway::ops {

NewKernel EluCpu(const KernelRequest& node) {
  return UnaryKernel(node, [](float x) { return x > 0 ? x : std::expm1(x); });
}

NewKernel EluGradCpu(const KernelRequest& node) {
  return BinaryKernel(
      node, [](float dy, float y) { return y > 0 ? dy : dy * (y + 1); });
}

NewKernel ReluCpu(const KernelRequest& node) {
  return UnaryKernel(node, [](float x) { return x < 0 ? 0.0F : x; });
}

NewKernel ReluGradCpu(const KernelRequest& node) {
  return BinaryKernel(node,
                      [](float dy, float y) { return y > 0 ? dy : 0.0F; });
}

NewKernel Relu6Cpu(const KernelRequest& node) {
  return UnaryKernel(node, [](float x) {
    const float positive = x < 0 ? 0.0F : x;
    return positive > 6 ? 6.0F : positive;
  });
}

NewKernel Relu6GradCpu(const KernelRequest& node) {
  return BinaryKernel(node, [](float dy, float y) {
    return static_cast<int>(y > 0) & static_cast<int>(y < 6) ? dy : 0.0F;
  });
}

NewKernel SigmoidCpu(const KernelRequest& node) {
  return UnaryKernel(node, [](float x) { return 1 / (1 + std::exp(-x)); });
}

NewKernel SigmoidGradCpu(const KernelRequest& node) {
  return BinaryKernel(node, [](float dy, float y) { return dy * y * (1 - y); });
}

NewKernel TanhCpu(const KernelRequest& node) {
  return UnaryKernel(node, [](float x) { return std::tanh(x); });
}

NewKernel TanhGradCpu(const KernelRequest& node) {
  return BinaryKernel(node, [](float dy, float y) { return dy * (1 - y * y); });
}

}  // namespace spillway::ops
