// The three tensors of a convolution as the op has them and as cuDNN needs
// them. Where these differ, there is a copy in the workspace, made before the
// call or, of the output, copied back after it.
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
  int input = kGpuConvOutput;  // its place among the inputs
  DType dtype = DType::kFloat32;
  DType copy_dtype = DType::kFloat32;
  gpu::PadWindow to_copy = {};
  bool has_copy = false;
  int64_t copy_offset = 0;

  bool is_output() const { return input == kGpuConvOutput; }
  void* Original(const KernelContext& context) const;
  // What cuDNN is given.
  void* Data(const KernelContext& context) const;
};

struct ConvOperands {
  ConvOperand x = {};
  ConvOperand filter = {};
  ConvOperand y = {};
  int64_t copy_bytes = 0;  // of all copies: the workspace begins with them
};

// The convolution that cuDNN is to compute: of the same y.
ConvGeometry PadIntoInput(ConvGeometry conv);

// What cuDNN is given.
struct ConvDTypes {
  DType activations = DType::kFloat32;
  DType filter = DType::kFloat32;
};

// cuDNN computes PadIntoInput(spec.geometry).
ConvOperands MakeConvOperands(const GpuConvSpec& spec,
                              const ConvDTypes& dtypes);

// Both do nothing for an operand that they do not concern.
absl::Status FillCopy(const ConvOperand& operand, const KernelContext& context);
absl::Status CopyBack(const ConvOperand& operand, const KernelContext& context);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_OPERANDS_H_
