// The three tensors of a convolution as the op has them and as cuDNN needs
// them. If these differ, there is a copy in the workspace, made before the call
// or, for the output, copied back after it.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_OPERANDS_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_OPERANDS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "executor/kernel.h"
#include "graph/dtype.h"
#include "ops/common/conv.h"
#include "ops/gpu/conv/conv_kernel.h"
#include "ops/gpu/kernel/pad_window.h"

namespace spillway {

struct ConvOperand {
  int input = kGpuConvOutput;  // its index among the inputs
  DType dtype = DType::kFloat32;
  DType copy_dtype = DType::kFloat32;
  gpu::PadWindow to_copy = {};
  bool has_copy = false;
  int64_t copy_offset = 0;

  bool is_output() const { return input == kGpuConvOutput; }
  void* Original(const KernelContext& context) const;
  // The pointer that is passed to cuDNN.
  void* Data(const KernelContext& context) const;
};

struct ConvOperands {
  ConvOperand x = {};
  ConvOperand filter = {};
  ConvOperand y = {};
  int64_t copy_bytes = 0;  // of all copies, at the start of the workspace
};

// The convolution that cuDNN should compute; it has the same y.
ConvGeometry PadIntoInput(ConvGeometry conv);

// The dtypes that are passed to cuDNN.
struct ConvDTypes {
  DType activations = DType::kFloat32;
  DType filter = DType::kFloat32;
};

// cuDNN computes PadIntoInput(spec.geometry).
ConvOperands MakeConvOperands(const GpuConvSpec& spec,
                              const ConvDTypes& dtypes);

// Both are no-ops for an operand that needs no such copy.
absl::Status FillCopy(const ConvOperand& operand, const KernelContext& context);
absl::Status CopyBack(const ConvOperand& operand, const KernelContext& context);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_OPERANDS_H_
