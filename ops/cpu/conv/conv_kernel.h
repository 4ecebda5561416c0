// Convolutions and their gradients by oneDNN, for every op that is one of them.
// Activations are used in their stored layout, channels last; filters are
// copied to the workspace in the layout and dtype that oneDNN prefers. Sums are
// float32.
#ifndef SPILLWAY_OPS_CPU_CONV_CONV_KERNEL_H_
#define SPILLWAY_OPS_CPU_CONV_CONV_KERNEL_H_

#include <string_view>

#include "executor/kernel.h"
#include "ops/common/conv.h"
#include "ops/cpu/onednn.h"
#include "ops/cpu/storage.h"
#include "ops/op.h"

namespace spillway {

// A tensor of a node: its place and its element type.
struct ConvTensor {
  Place place = {};
  DType dtype = DType::kFloat32;
};

inline ConvTensor InputOf(const KernelRequest& node, int index) {
  return {Input(index), node.inputs[static_cast<size_t>(index)].dtype};
}
inline ConvTensor OutputOf(const KernelRequest& node, int index) {
  return {Output(index), node.outputs[static_cast<size_t>(index)].dtype};
}

// A convolution's three tensors, or their gradients: one of them is the output
// 0, the other two are inputs. x and y have one dtype; the filter has the same
// or float32.
struct ConvSpec {
  ConvGeometry geometry = {};
  ConvTensor x = {};
  ConvTensor filter = {};
  ConvTensor y = {};
  int threads = 1;
  // Of an input gradient that IsPointwise: x holds a tensor, to which the
  // gradient is added.
  bool adds_to_x = false;
};

// Calls make(T(), Filter()), where T is the storage type of activations and
// Filter that of the filter. Errors: as ForStorage.
template <typename Make>
NewKernel ForConvStorage(const ConvSpec& spec, const Make& make) {
  const TensorType x = {.dtype = spec.x.dtype, .shape = {}};
  const TensorType filter = {.dtype = spec.filter.dtype, .shape = {}};
  return ForStorage(x, [&]<typename T>(T) -> NewKernel {
    return ForStorage(filter, [&]<typename Filter>(Filter) -> NewKernel {
      return make(T(), Filter());
    });
  });
}

// Most have several algorithms. `algorithm`: KernelRequest::algorithm.
//   direct        oneDNN's
//   winograd_HxW  Winograd's, for tiles of H x W pixels (winograd.h)
//   patches       of a filter gradient: one matrix product of patches
//                 (patches_filter_gradient.h)
//   float32       of a filter gradient: direct, from float32 copies of bfloat16
//                 activations
NewKernel MakeConvKernel(const ConvSpec& spec,
                         std::string_view algorithm);  // y
NewKernel MakeConvInputGradientKernel(const ConvSpec& spec,
                                      std::string_view algorithm);  // x
NewKernel MakeConvFilterGradientKernel(const ConvSpec& spec,
                                       std::string_view algorithm);  // filter

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_CONV_KERNEL_H_
