// Kernel: one node's computation, prepared before the first step.
//
// Preparing chooses the algorithm and thereby the workspace, which the planner
// places in the arena like any other buffer. Running only computes: a kernel
// allocates nothing of tensor size, never synchronises a device, and keeps no
// state from one run to the next.
#ifndef SPILLWAY_EXECUTOR_KERNEL_H_
#define SPILLWAY_EXECUTOR_KERNEL_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway {

enum class DeviceKind : uint8_t { kCpu, kCuda };

// The node to prepare a kernel for. Its types have passed the op's shape
// inference. Borrowed for the call.
struct KernelRequest {
  const Attributes& attributes;
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
  int threads = 1;  // that the kernel will be run with
};

// One run. Pointers are 256-byte aligned device memory; an output may share its
// bytes with an input where the op declares alias or in_place.
struct KernelContext {
  std::span<void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;  // Kernel::workspace_bytes() bytes, undefined
  void* stream = nullptr;     // the device's own handle; null on the CPU
  uint64_t seed = 0;          // of the session
  int64_t step = 0;           // counted from 0 over the session's life

  template <typename T>
  const T* input(size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  // For inputs that the op declares as mutated.
  template <typename T>
  T* mutable_input(size_t i) const {
    return static_cast<T*>(inputs[i]);
  }
  template <typename T>
  T* output(size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Bytes of scratch for one run; constant for the life of the kernel.
  virtual int64_t workspace_bytes() const { return 0; }

  // Called by one thread at a time, never twice at once.
  virtual absl::Status Run(const KernelContext& context) = 0;
};

// Errors: UNIMPLEMENTED for a dtype or case the kernel does not cover, INTERNAL
// when a library fails.
using KernelFactory =
    absl::StatusOr<std::unique_ptr<Kernel>> (*)(const KernelRequest&);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_KERNEL_H_
