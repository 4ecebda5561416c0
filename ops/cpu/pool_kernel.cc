#include "ops/cpu/pool_kernel.h"

#include "ops/cpu/onednn.h"

namespace spillway {
namespace {

using dnnl::memory;

memory::desc X(const PoolSpec& spec) {
  return ChannelsLast(spec.batch, spec.channels,
                      Each(spec.window, &WindowDim::input), spec.dtype);
}

memory::desc Y(const PoolSpec& spec) {
  return ChannelsLast(spec.batch, spec.channels,
                      Each(spec.window, &WindowDim::output), spec.dtype);
}

// Inference, so that no index tensor is kept.
dnnl::pooling_forward::primitive_desc Forward(const PoolSpec& spec,
                                              const dnnl::engine& engine) {
  return {{dnnl::prop_kind::forward_inference, spec.algorithm, X(spec), Y(spec),
           Each(spec.window, &WindowDim::stride),
           Each(spec.window, &WindowDim::size),
           Each(spec.window, &WindowDim::pad_before),
           Each(spec.window, &WindowDim::pad_after)},
          OneDnnProgram::UserScratchpad(),
          engine};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MakePoolKernel(const PoolSpec& spec) {
  return MakeOneDnnKernel(spec.threads, [&](OneDnnProgram& program) {
    const auto desc = Forward(spec, program.engine());
    program.Add({.primitive = dnnl::pooling_forward(desc),
                 .arguments = {{DNNL_ARG_SRC, desc.src_desc(), Input(0)},
                               {DNNL_ARG_DST, desc.dst_desc(), Output(0)}}},
                desc.scratchpad_desc());
  });
}

}  // namespace spillway
