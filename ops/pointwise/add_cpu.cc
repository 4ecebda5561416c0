#include <cmath>

#include "ops/common/choice_functions.h"
#include "ops/cpu/broadcast.h"
#include "ops/pointwise/add.h"

namespace spillway::ops {

NewKernel AddCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a + b; });
}

NewKernel GreaterShareCpu(const KernelRequest& node) {
  return BroadcastKernel(node, choice::GreaterShare());
}

NewKernel MaximumCpu(const KernelRequest& node) {
  return BroadcastKernel(node, choice::Larger());
}

NewKernel MinimumCpu(const KernelRequest& node) {
  return BroadcastKernel(node, choice::Smaller());
}

NewKernel MulCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a * b; });
}

NewKernel PowCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return std::pow(a, b); });
}

NewKernel RealDivCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a / b; });
}

NewKernel SubCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a - b; });
}

}  // namespace spillway::ops
