#include "ops/cpu/pool_kernel.h"

#include "ops/cpu/onednn.h"

namespace spillway {
namespace {

using dnnl::memory;

memory::desc Nhwc(const PoolSpec& spec, int64_t rows, int64_t columns) {
  return {{spec.batch, spec.channels, rows, columns},
          memory::data_type::f32,
          memory::format_tag::nhwc};
}

memory::desc X(const PoolSpec& spec) {
  return Nhwc(spec, spec.window[0].input, spec.window[1].input);
}

memory::desc Y(const PoolSpec& spec) {
  return Nhwc(spec, spec.window[0].output, spec.window[1].output);
}

memory::dims ForEach(const Window& window, int64_t WindowDim::*member) {
  return {window[0].*member, window[1].*member};
}

// Inference, so that no tensor of indices is kept.
dnnl::pooling_forward::primitive_desc Forward(const PoolSpec& spec,
                                              const dnnl::engine& engine) {
  return {{dnnl::prop_kind::forward_inference, spec.algorithm, X(spec), Y(spec),
           ForEach(spec.window, &WindowDim::stride),
           ForEach(spec.window, &WindowDim::size),
           ForEach(spec.window, &WindowDim::pad_before),
           ForEach(spec.window, &WindowDim::pad_after)},
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

absl::StatusOr<std::unique_ptr<Kernel>> MakePoolGradKernel(
    const PoolSpec& spec) {
  return MakeOneDnnKernel(spec.threads, [&](OneDnnProgram& program) {
    const dnnl::pooling_backward::primitive_desc desc(
        {spec.algorithm, X(spec), Y(spec),
         ForEach(spec.window, &WindowDim::stride),
         ForEach(spec.window, &WindowDim::size),
         ForEach(spec.window, &WindowDim::pad_before),
         ForEach(spec.window, &WindowDim::pad_after)},
        OneDnnProgram::UserScratchpad(), program.engine(),
        Forward(spec, program.engine()));
    program.Add(
        {.primitive = dnnl::pooling_backward(desc),
         .arguments = {{DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), Input(0)},
                       {DNNL_ARG_DIFF_SRC, desc.diff_src_desc(), Output(0)}}},
        desc.scratchpad_desc());
  });
}

}  // namespace spillway
