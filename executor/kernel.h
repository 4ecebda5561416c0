// Kernel: one node's computation, prepared before the first step.
//
// Preparing chooses the algorithm and thereby the workspace, which the planner
// places in the arena like any other buffer. Running only computes: a kernel
// allocates nothing of tensor size, never synchronises a device, and keeps no
// state between runs.
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

class Communicator;  // comm/communicator.h

enum class DeviceKind : uint8_t { kCpu, kCuda };

// Which precision kernels may give up for speed; the same for a whole session.
struct MathOptions {
  // Products of float32 may round their factors to TF32 (10 bits of mantissa),
  // on devices that support it.
  bool allow_tf32 = false;
  // Equal inputs give bitwise identical outputs in every run.
  bool deterministic = true;
};

// The node to prepare a kernel for. Its types have passed the op's shape
// inference. Borrowed for the call.
struct KernelRequest {
  const Attributes& attributes;
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
  int threads = 1;  // with which the kernel will run
  MathOptions math = {};
  // One of those that the kernel lists; empty: the first.
  std::string_view algorithm = {};
  // By input: the elements from one row of channels (the last dimension) to the
  // next, for inputs that are parts of values (OpDef::part_inputs). Empty: no
  // input is one.
  std::span<const int64_t> row_strides = {};

  // Of an input with at least one dimension.
  int64_t row_stride(size_t input) const {
    return row_strides.empty() ? inputs[input].shape.dim(-1)
                               : row_strides[input];
  }
};

// One run. Pointers are 256-byte aligned device memory, except those of parts
// (KernelRequest::row_strides); an output may share its bytes with an input if
// the op declares alias or in_place.
struct KernelContext {
  std::span<void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;  // Kernel::workspace_bytes() bytes, undefined
  void* stream = nullptr;     // the device's stream handle; null on the CPU
  uint64_t seed = 0;          // of the session
  // The program's step number (executor/session/session.h). It is in host
  // memory that the device can read too. Only work queued on the stream may
  // read it, so that the same work, launched again as a graph, reads the number
  // of the new step.
  const int64_t* step = nullptr;
  // Of the session's run; null: it has none. Only collectives may use it.
  Communicator* communicator = nullptr;

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

  // The algorithms that can compute this node under the request's MathOptions;
  // the one that is most likely the fastest comes first. Empty: the kernel has
  // only one. Calls into libraries; the result is constant for the lifetime of
  // the kernel.
  virtual absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms() {
    return std::vector<KernelAlgorithm>();
  }
  // The algorithm that this kernel uses; empty if it has only one.
  virtual std::string_view algorithm() const { return {}; }

  // Bytes of scratch for one run; constant for the lifetime of the kernel.
  virtual int64_t workspace_bytes() const { return 0; }

  // Called by one thread at a time. An exception becomes INTERNAL.
  virtual absl::Status Run(const KernelContext& context) = 0;
};

// Errors: UNIMPLEMENTED for a dtype or case that the kernel does not support;
// INVALID_ARGUMENT for an algorithm that it does not list; INTERNAL if a
// library fails.
using KernelFactory =
    absl::StatusOr<std::unique_ptr<Kernel>> (*)(const KernelRequest&);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_KERNEL_H_
