// Convolutions by cuDNN and their gradients on the GPU, for every op that is
// one of them. Activations and filters are read and written as they lie,
// channels last.
//
// cuDNN pads both ends of a dimension alike. Where that does not give the same
// output, x is a padded copy in the workspace, and dx is cut out of one.
//
// A convolution is computed by an engine of cuDNN's graph API, among which are
// those made for Hopper, or by an algorithm of its legacy calls, which serve
// where the graph API has none.
//
// Products are of the activations' dtype, sums float32; float32 is rounded to
// TF32 where MathOptions allow it. A float32 filter of shorter activations is
// rounded in the workspace. A float32 gradient of one needs no copies where it
// is a matrix product (matmul_kernel.h), for windows of one pixel, or where
// there is an engine for it; algorithms compute it from float32 copies of the
// activations, in TF32, which holds any bfloat16 and float16.
//
// The same inputs give the same bits where MathOptions ask for that: no engine
// or algorithm that adds in an order that differs from run to run is used.
//
// Threads: kernels may be prepared and run by several; they take turns at the
// device's cuDNN handle, which Run sets to its context's stream.
//
// Source: Chetlur and others, "cuDNN: efficient primitives for deep learning",
// 2014; NVIDIA, "cuDNN Developer Guide", "Reproducibility (determinism)".
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_KERNEL_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_KERNEL_H_

#include "executor/kernel.h"
#include "ops/common/conv.h"
#include "ops/op.h"

namespace spillway {

// Of the tensor that is computed, output 0.
inline constexpr int kGpuConvOutput = -1;

// A convolution's three tensors, or their gradients: one of them is computed,
// the other two are inputs. x and y have one dtype, float32 or a shorter one;
// the filter's is the same or float32.
struct GpuConvSpec {
  ConvGeometry geometry = {};
  int x = 0;  // its place among the inputs
  int filter = 1;
  int y = kGpuConvOutput;
  DType dtype = DType::kFloat32;  // of x and y
  DType filter_dtype = DType::kFloat32;
};

// Each lists what cuDNN's heuristics suggest, the node's MathOptions allow, and
// needs at most 1 GiB of workspace of cuDNN's own: the first 4 engines, called
// e.g. "engine 62 2:4 13:0", then the algorithms of legacy calls, e.g.
// "implicit_precomp_gemm tensor_op"; or, where it is a matrix product, those of
// matmul_kernel.h. Of the node, only math and algorithm are read. Errors:
// UNAVAILABLE without the library; UNIMPLEMENTED where there is no algorithm or
// a dimension is too large for cuDNN; INVALID_ARGUMENT for an algorithm that is
// not known.
NewKernel MakeGpuConvKernel(const KernelRequest& node,
                            const GpuConvSpec& spec);  // y
NewKernel MakeGpuConvInputGradientKernel(const KernelRequest& node,
                                         const GpuConvSpec& spec);  // x
NewKernel MakeGpuConvFilterGradientKernel(const KernelRequest& node,
                                          const GpuConvSpec& spec);  // filter

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_KERNEL_H_
