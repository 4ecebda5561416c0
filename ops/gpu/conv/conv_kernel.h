// Convolutions and their gradients by cuDNN on the GPU, for every op that is
// one of them. Activations and filters are used in their stored layout,
// channels last.
//
// cuDNN pads both ends of a dimension equally. If that does not give the same
// output, x is a padded copy in the workspace, and dx is cropped from one.
//
// A convolution is computed by an engine of cuDNN's graph API, which has
// engines made for Hopper, or by an algorithm of its legacy API if the graph
// API has none.
//
// Products have the activations' dtype, sums are float32; float32 is rounded to
// TF32 if MathOptions allow it. A float32 filter for shorter activations is
// rounded in the workspace. A float32 gradient of such a filter needs no copies
// if it is a matrix product (matmul_kernel.h), as for windows of one pixel, or
// if there is an engine for it; algorithms compute it from float32 copies of
// the activations, in TF32, which can represent every bfloat16 and float16.
//
// If MathOptions require deterministic results, engines and algorithms whose
// order of additions differs between runs are not used.
//
// Threads: several threads may prepare and run kernels; they take turns with
// the device's cuDNN handle, which Run sets to its context's stream.
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

// The index of the computed tensor, output 0.
inline constexpr int kGpuConvOutput = -1;

// A convolution's three tensors, or their gradients: one of them is computed,
// the other two are inputs. x and y have one dtype, float32 or a shorter one;
// the filter has the same or float32.
struct GpuConvSpec {
  ConvGeometry geometry = {};
  int x = 0;  // index of the input that is x
  int filter = 1;
  int y = kGpuConvOutput;
  DType dtype = DType::kFloat32;  // of x and y
  DType filter_dtype = DType::kFloat32;
  int addend = -1;  // of an input gradient that IsPointwise: the input that is
                    // added to it; -1: none
};

// Each lists the suggestions of cuDNN's heuristics that the node's MathOptions
// allow and that need at most 1 GiB of cuDNN workspace: the first 4 engines,
// for example "engine 62 2:4 13:0", then the algorithms of the legacy API, for
// example "implicit_precomp_gemm tensor_op"; of an input gradient with an
// addend, and of a float32 filter gradient of shorter activations if that is a
// matrix product, the algorithms of matmul_kernel.h. Of the node, only math and
// algorithm are used. Errors: UNAVAILABLE without the library; UNIMPLEMENTED if
// there is no algorithm or a dimension is too large for cuDNN; INVALID_ARGUMENT
// for an unknown algorithm.
NewKernel MakeGpuConvKernel(const KernelRequest& node,
                            const GpuConvSpec& spec);  // y
NewKernel MakeGpuConvInputGradientKernel(const KernelRequest& node,
                                         const GpuConvSpec& spec);  // x
NewKernel MakeGpuConvFilterGradientKernel(const KernelRequest& node,
                                          const GpuConvSpec& spec);  // filter

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_KERNEL_H_
