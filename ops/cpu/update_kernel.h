// CPU kernels of the updates of variables, in place and in float32.
#ifndef SPILLWAY_OPS_CPU_UPDATE_KERNEL_H_
#define SPILLWAY_OPS_CPU_UPDATE_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "ops/common/update.h"
#include "ops/cpu/elementwise.h"

namespace spillway {

// The memory of one group in a run.
class GroupMemory {
 public:
  GroupMemory(const KernelContext& context, const UpdateGroups& groups,
              size_t group)
      : context_(context), groups_(groups), group_(group) {}

  int64_t elements() const { return groups_.elements[group_]; }
  float* variable() const {
    return context_.mutable_input<float>(groups_.variable(group_));
  }
  float* slot(size_t i) const {
    return context_.mutable_input<float>(groups_.slot(group_, i));
  }
  const float* gradient() const {
    return context_.input<float>(groups_.gradient(group_));
  }
  const float* shared() const {
    return context_.input<float>(groups_.shared());
  }
  float learning_rate() const { return *shared(); }

 private:
  const KernelContext& context_;
  const UpdateGroups& groups_;
  size_t group_;
};

// Calls `make(memory)` once for each group, by one thread; it returns
// update(begin, end), which updates these elements of the group.
template <typename Make>
NewKernel UpdateKernel(const KernelRequest& node, Make make) {
  return MakeKernel([=, groups = GroupsOf(node.inputs, node.outputs),
                     threads = node.threads](const KernelContext& context) {
    for (size_t group = 0; group < groups.count(); ++group) {
      ParallelFor(threads, groups.elements[group], kElementwiseGrain,
                  make(GroupMemory(context, groups, group)));
    }
  });
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_UPDATE_KERNEL_H_
