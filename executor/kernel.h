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
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/plan/algorithms.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway {

enum class DeviceKind : uint8_t { kCpu, kCuda };

// What kernels may give up for speed; the same for all of a session.
struct MathOptions {
  // Products of float32 may round their factors to TF32 (10 bits of mantissa),
  // on devices that have it.
  bool allow_tf32 = false;
  // The same inputs give the same bits, run after run.
  bool deterministic = true;
};

// The node to prepare a kernel for. Its types have passed the op's shape
// inference. Borrowed for the call.
struct KernelRequest {
  const Attributes& attributes;
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
  int threads = 1;  // that the kernel will be run with
  MathOptions math = {};
  // Of those that the kernel lists; empty: its first.
  std::string_view algorithm = {};
};

// One run. Pointers are 256-byte aligned device memory; an output may share its
// bytes with an input where the op declares alias or in_place.
struct KernelContext {
  std::span<void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;  // Kernel::workspace_bytes() bytes, undefined
  void* stream = nullptr;     // the device's own handle; null on the CPU
  uint64_t seed = 0;          // of the session
  // The program's step number (executor/session/session.h). Host memory that
  // the device reads as well, so only work that is queued on the stream may
  // look at it: the same work, launched again as a graph, finds the number of
  // that step.
  const int64_t* step = nullptr;

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

  // The ways to compute this node under the request's MathOptions, the one that
  // is most likely the fastest first. Empty: there is one way only. Calls into
  // libraries; the same for the life of the kernel.
  virtual absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms() {
    return std::vector<KernelAlgorithm>();
  }
  // The way this kernel takes; empty where there is one only.
  virtual std::string_view algorithm() const { return {}; }

  // Bytes of scratch for one run; constant for the life of the kernel.
  virtual int64_t workspace_bytes() const { return 0; }

  // Called by one thread at a time. An exception out of it: INTERNAL.
  virtual absl::Status Run(const KernelContext& context) = 0;
};

// Errors: UNIMPLEMENTED for a dtype or case the kernel does not cover;
// INVALID_ARGUMENT for an algorithm that it does not list; INTERNAL when a
// library fails.
using KernelFactory =
    absl::StatusOr<std::unique_ptr<Kernel>> (*)(const KernelRequest&);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_KERNEL_H_
