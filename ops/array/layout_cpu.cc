#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/array/layout.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/strided_copy.h"

namespace spillway::ops {

namespace {

void FillZero(int threads, int64_t num_bytes, std::byte* y) {
  ParallelFor(threads, num_bytes, 4 * kElementwiseGrain,
              [=](int64_t begin, int64_t end) {
                std::memset(y + begin, 0, static_cast<size_t>(end - begin));
              });
}

void CopyAll(int threads, const std::vector<StridedCopy>& copies,
             std::span<void* const> inputs, void* y) {
  for (size_t i = 0; i < copies.size(); ++i) {
    CopyStrided(threads, copies[i], inputs[i], y);
  }
}

}  // namespace

NewKernel ConcatCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<StridedCopy> copies,
                            ConcatCopies(node));
  for (StridedCopy& copy : copies) copy = Simplify(copy);
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t room,
                            node.attributes.GetInt("room", 0));
  const int64_t bytes_to_fill = room > 0 ? node.outputs[0].num_bytes() : 0;
  return MakeKernel([=, copies = std::move(copies),
                     threads = node.threads](const KernelContext& context) {
    FillZero(threads, bytes_to_fill, context.output<std::byte>(0));
    CopyAll(threads, copies, context.inputs, context.outputs[0]);
  });
}

NewKernel ConcatIntoCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<StridedCopy> copies,
                            ConcatIntoCopies(node));
  for (StridedCopy& copy : copies) copy = Simplify(copy);
  return MakeKernel(
      [copies = std::move(copies), threads = node.threads,
       num_bytes = node.outputs[0].num_bytes()](const KernelContext& context) {
        const auto* base = context.input<std::byte>(0);
        auto* y = context.output<std::byte>(0);
        if (y != base) CopyBytes(threads, num_bytes, base, y);
        CopyAll(threads, copies, context.inputs.subspan(1), y);
      });
}

NewKernel BroadcastToCpu(const KernelRequest& node) {
  return MakeKernel([copy = Simplify(BroadcastToCopy(node)),
                     threads = node.threads](const KernelContext& context) {
    CopyStrided(threads, copy, context.inputs[0], context.outputs[0]);
  });
}

NewKernel SliceCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const StridedCopy whole, SliceCopy(node));
  return MakeKernel([copy = Simplify(whole),
                     threads = node.threads](const KernelContext& context) {
    CopyStrided(threads, copy, context.inputs[0], context.outputs[0]);
  });
}

NewKernel TransposeCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const StridedCopy whole, TransposeCopy(node));
  return MakeKernel([copy = Simplify(whole),
                     threads = node.threads](const KernelContext& context) {
    CopyStrided(threads, copy, context.inputs[0], context.outputs[0]);
  });
}

namespace {

template <typename T>
void FillValue(int threads, int64_t n, T value, T* y) {
  ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
    std::fill(y + begin, y + end, value);
  });
}

// A kernel that calls fill(context), then copies x into its place.
template <typename Fill>
NewKernel Padding(const KernelRequest& node, Fill fill) {
  SPILLWAY_ASSIGN_OR_RETURN(const StridedCopy whole, PadCopy(node));
  return MakeKernel([=, copy = Simplify(whole),
                     threads = node.threads](const KernelContext& context) {
    fill(context);
    CopyStrided(threads, copy, context.inputs[0], context.outputs[0]);
  });
}

}  // namespace

NewKernel PadCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const double value,
                            node.attributes.GetReal("value", 0));
  const TensorType& y = node.outputs[0];
  const int threads = node.threads;
  if (value == 0) {
    return Padding(node, [threads, num_bytes = y.num_bytes()](
                             const KernelContext& context) {
      FillZero(threads, num_bytes, context.output<std::byte>(0));
    });
  }
  return ForStorage(y, [&]<typename T>(T) -> NewKernel {
    return Padding(node, [threads, n = y.num_elements(),
                          item = Store<T>(static_cast<float>(value))](
                             const KernelContext& context) {
      FillValue(threads, n, item, context.output<T>(0));
    });
  });
}

}  // namespace spillway::ops
