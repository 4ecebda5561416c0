// Convolutions by oneDNN. Activations are read and written as they lie (NHWC);
// filters go through a copy in the workspace, in the layout that oneDNN likes.
//
// Two kinds need other treatment to be fast or small:
//  - A 1x1 convolution of stride 1 is a matrix product over the pixels: no copy
//    of the filter, at equal speed.
//  - The input gradient for stride 1 is itself a convolution: of dy, by the
//    filter turned by 180 degrees with its channels exchanged. oneDNN's forward
//    primitives beat its backward ones.
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/conv2d.h"
#include "ops/cpu/expect_float32.h"
#include "ops/cpu/matmul_kernel.h"
#include "ops/cpu/onednn.h"

namespace spillway::ops {
namespace {

using dnnl::memory;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

bool IsPointwise(const WindowDim& dim) {
  return dim.size == 1 && dim.stride == 1 && dim.output == dim.input;
}

bool IsPointwise(const Conv2DGeometry& conv) {
  return conv.groups == 1 && IsPointwise(conv.rows) &&
         IsPointwise(conv.columns);
}

int64_t Pixels(const Conv2DGeometry& conv) {
  return conv.batch * conv.rows.input * conv.columns.input;
}

// A convolution in oneDNN's terms: dimensions are N C H W and (G) O I H W
// whatever the order in memory, and a dilation of 1 is written 0.
struct Problem {
  memory::desc x;
  memory::desc y;
  memory::desc filter;  // in any layout
  memory::dims strides;
  memory::dims dilations;
  memory::dims pad_before;
  memory::dims pad_after;
};

memory::desc Nhwc(int64_t batch, int64_t channels, int64_t rows,
                  int64_t columns) {
  return {{batch, channels, rows, columns},
          memory::data_type::f32,
          memory::format_tag::nhwc};
}

memory::desc AnyFilter(int64_t groups, int64_t out, int64_t in, int64_t rows,
                       int64_t columns) {
  memory::dims dims = {out / groups, in / groups, rows, columns};
  if (groups > 1) dims.insert(dims.begin(), groups);
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

Problem MakeProblem(const Conv2DGeometry& conv) {
  const WindowDim& rows = conv.rows;
  const WindowDim& columns = conv.columns;
  return {.x = Nhwc(conv.batch, conv.in_channels, rows.input, columns.input),
          .y = Nhwc(conv.batch, conv.out_channels, rows.output, columns.output),
          .filter = AnyFilter(conv.groups, conv.out_channels, conv.in_channels,
                              rows.size, columns.size),
          .strides = {rows.stride, columns.stride},
          .dilations = {rows.dilation - 1, columns.dilation - 1},
          .pad_before = {rows.pad_before, columns.pad_before},
          .pad_after = {rows.pad_after, columns.pad_after}};
}

// The filter as it lies, [O, KH, KW, I / groups], in oneDNN's dimensions.
memory::desc Ohwi(const Conv2DGeometry& conv) {
  const int64_t out = conv.out_channels / conv.groups;
  const int64_t in = conv.in_channels / conv.groups;
  const int64_t rows = conv.rows.size;
  const int64_t columns = conv.columns.size;
  memory::dims dims = {out, in, rows, columns};
  memory::dims strides = {rows * columns * in, 1, columns * in, in};
  if (conv.groups > 1) {
    dims.insert(dims.begin(), conv.groups);
    strides.insert(strides.begin(), out * rows * columns * in);
  }
  return Strided(dims, strides);
}

dnnl::convolution_forward::primitive_desc Forward(const Problem& problem,
                                                  const dnnl::engine& engine) {
  return {{dnnl::prop_kind::forward_training, kDirect, problem.x,
           problem.filter, problem.y, problem.strides, problem.dilations,
           problem.pad_before, problem.pad_after},
          OneDnnProgram::UserScratchpad(),
          engine};
}

void AddForward(const dnnl::convolution_forward::primitive_desc& desc, Place x,
                Place filter, Place y, OneDnnProgram& program) {
  program.Add({.primitive = dnnl::convolution_forward(desc),
               .arguments = {{DNNL_ARG_SRC, desc.src_desc(), x},
                             {DNNL_ARG_WEIGHTS, desc.weights_desc(), filter},
                             {DNNL_ARG_DST, desc.dst_desc(), y}}},
              desc.scratchpad_desc());
}

// True if dx is a convolution of dy with padding that is not negative.
bool HasForwardGradient(const WindowDim& dim) {
  return dim.stride == 1 && dim.pad_before < dim.extent() &&
         dim.pad_after < dim.extent();
}

WindowDim Backward(const WindowDim& dim) {
  return {.input = dim.output,
          .output = dim.input,
          .size = dim.size,
          .dilation = dim.dilation,
          .pad_before = dim.extent() - 1 - dim.pad_before,
          .pad_after = dim.extent() - 1 - dim.pad_after};
}

// The convolution of dy that gives dx.
Conv2DGeometry Backward(const Conv2DGeometry& conv) {
  return {.batch = conv.batch,
          .in_channels = conv.out_channels,
          .out_channels = conv.in_channels,
          .groups = conv.groups,
          .rows = Backward(conv.rows),
          .columns = Backward(conv.columns)};
}

// Element (row, column) of the window of a filter, all channels.
memory::desc Tap(const memory::desc& filter, int64_t row, int64_t column) {
  memory::dims dims = filter.dims();
  memory::dims offsets(dims.size(), 0);
  const size_t rank = dims.size();
  dims[rank - 2] = dims[rank - 1] = 1;
  offsets[rank - 2] = row;
  offsets[rank - 1] = column;
  return filter.submemory_desc(dims, offsets);
}

// The same bytes with O and I exchanged.
memory::desc ExchangeChannels(const memory::desc& filter) {
  const int rank = static_cast<int>(filter.dims().size());
  std::vector<int> order = {0, 1, 2, 3, 4};
  order.resize(static_cast<size_t>(rank));
  std::swap(order[order.size() - 4], order[order.size() - 3]);
  return filter.permute_axes(order);
}

// Copies the filter turned by 180 degrees, tap by tap.
void AddTurnedFilter(const Conv2DGeometry& conv, const memory::desc& turned,
                     Place place, OneDnnProgram& program) {
  const memory::desc filter = ExchangeChannels(Ohwi(conv));
  const int64_t rows = conv.rows.size;
  const int64_t columns = conv.columns.size;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      program.AddReorder(Tap(filter, row, column), Input(0),
                         Tap(turned, rows - 1 - row, columns - 1 - column),
                         place);
    }
  }
}

NewKernel InputGradientByForward(const Conv2DGeometry& conv, int threads) {
  return MakeOneDnnKernel(threads, [&](OneDnnProgram& program) {
    const auto desc = Forward(MakeProblem(Backward(conv)), program.engine());
    const Place filter = program.Reserve(desc.weights_desc());
    AddTurnedFilter(conv, desc.weights_desc(), filter, program);
    AddForward(desc, Input(1), filter, Output(0), program);
  });
}

NewKernel InputGradient(const Conv2DGeometry& conv, int threads) {
  return MakeOneDnnKernel(threads, [&](OneDnnProgram& program) {
    const Problem problem = MakeProblem(conv);
    const dnnl::convolution_backward_data::primitive_desc desc(
        {kDirect, problem.x, problem.filter, problem.y, problem.strides,
         problem.dilations, problem.pad_before, problem.pad_after},
        OneDnnProgram::UserScratchpad(), program.engine(),
        Forward(problem, program.engine()));
    const Place filter = program.Reserve(desc.weights_desc());
    program.AddReorder(Ohwi(conv), Input(0), desc.weights_desc(), filter);
    program.Add(
        {.primitive = dnnl::convolution_backward_data(desc),
         .arguments = {{DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), Input(1)},
                       {DNNL_ARG_WEIGHTS, desc.weights_desc(), filter},
                       {DNNL_ARG_DIFF_SRC, desc.diff_src_desc(), Output(0)}}},
        desc.scratchpad_desc());
  });
}

}  // namespace

NewKernel Conv2DCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  ASSIGN_OR_RETURN(
      const Conv2DGeometry conv,
      ReadConv2D(node.attributes, node.inputs[0].shape, node.inputs[1].shape));
  if (IsPointwise(conv)) {
    return MakeMatMulKernel({.m = Pixels(conv),
                             .k = conv.in_channels,
                             .n = conv.out_channels,
                             .transpose_b = true},
                            node.threads);
  }
  return MakeOneDnnKernel(node.threads, [&](OneDnnProgram& program) {
    const auto desc = Forward(MakeProblem(conv), program.engine());
    const Place filter = program.Reserve(desc.weights_desc());
    program.AddReorder(Ohwi(conv), Input(1), desc.weights_desc(), filter);
    AddForward(desc, Input(0), filter, Output(0), program);
  });
}

NewKernel Conv2DBackpropInputCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  ASSIGN_OR_RETURN(
      const Conv2DGeometry conv,
      ReadConv2D(node.attributes, node.outputs[0].shape, node.inputs[0].shape));
  if (IsPointwise(conv)) {
    return MakeMatMulKernel({.m = Pixels(conv),
                             .k = conv.out_channels,
                             .n = conv.in_channels,
                             .a = 1,
                             .b = 0},
                            node.threads);
  }
  return HasForwardGradient(conv.rows) && HasForwardGradient(conv.columns)
             ? InputGradientByForward(conv, node.threads)
             : InputGradient(conv, node.threads);
}

NewKernel Conv2DBackpropFilterCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  ASSIGN_OR_RETURN(
      const Conv2DGeometry conv,
      ReadConv2D(node.attributes, node.inputs[0].shape, node.outputs[0].shape));
  if (IsPointwise(conv)) {
    return MakeMatMulKernel({.m = conv.out_channels,
                             .k = Pixels(conv),
                             .n = conv.in_channels,
                             .transpose_a = true,
                             .a = 1,
                             .b = 0},
                            node.threads);
  }
  return MakeOneDnnKernel(node.threads, [&](OneDnnProgram& program) {
    const Problem problem = MakeProblem(conv);
    const dnnl::convolution_backward_weights::primitive_desc desc(
        {kDirect, problem.x, problem.filter, problem.y, problem.strides,
         problem.dilations, problem.pad_before, problem.pad_after},
        OneDnnProgram::UserScratchpad(), program.engine(),
        Forward(problem, program.engine()));
    const memory::desc gradient = desc.diff_weights_desc();
    const Place place = program.Reserve(gradient);
    program.Add(
        {.primitive = dnnl::convolution_backward_weights(desc),
         .arguments = {{DNNL_ARG_SRC, desc.src_desc(), Input(0)},
                       {DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), Input(1)},
                       {DNNL_ARG_DIFF_WEIGHTS, gradient, place}}},
        desc.scratchpad_desc());
    program.AddReorder(gradient, place, Ohwi(conv), Output(0));
  });
}

}  // namespace spillway::ops
