#include "ops/cpu/broadcast.h"
#include "ops/pointwise/add.h"

namespace spillway::ops {

NewKernel AddCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a + b; });
}

NewKernel MulCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a * b; });
}

NewKernel RealDivCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a / b; });
}

NewKernel SubCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a - b; });
}

}  // namespace spillway::ops
