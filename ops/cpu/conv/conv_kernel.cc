// Two kinds of convolution need special treatment to be fast or small:
//  - A 1x1 convolution of stride 1 is a matrix product over the pixels: no copy
//    of the filter, at equal speed.
//  - The input gradient for stride 1 is itself a convolution: of dy, by the
//    filter mirrored in every spatial dimension, with its input and output
//    channels exchanged. oneDNN's forward primitives are faster than its
//    backward ones.
// A filter gradient for which oneDNN has only its sgemm is computed as a matrix
// product of patches. Some windows have Winograd's algorithm as well.
#include "ops/cpu/conv/conv_kernel.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/one_of.h"
#include "ops/cpu/conv/depthwise_filter_gradient.h"
#include "ops/cpu/conv/patches_filter_gradient.h"
#include "ops/cpu/conv/winograd.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/matmul_kernel.h"

namespace spillway {
namespace {

using dnnl::memory;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

int64_t Pixels(const ConvGeometry& conv) {
  int64_t pixels = conv.batch;
  for (const WindowDim& dim : conv.window) pixels *= dim.input;
  return pixels;
}

// A convolution in oneDNN's terms: dimensions are N C spatial... and (G) O I
// spatial... whatever the order in memory, and a dilation of 1 is written as 0.
struct Problem {
  memory::desc x;
  memory::desc y;
  memory::desc filter;  // in any layout
  memory::dims strides;
  memory::dims dilations;
  memory::dims pad_before;
  memory::dims pad_after;
};

memory::dims FilterDims(const ConvGeometry& conv) {
  memory::dims dims = {conv.out_channels / conv.groups,
                       conv.in_channels / conv.groups};
  for (const WindowDim& dim : conv.window) dims.push_back(dim.size);
  if (conv.groups > 1) dims.insert(dims.begin(), conv.groups);
  return dims;
}

// Activations have the dtype `dtype`, the filter `filter_dtype`.
Problem MakeProblem(const ConvGeometry& conv, DType dtype, DType filter_dtype) {
  const Window& window = conv.window;
  memory::dims dilations = Each(window, &WindowDim::dilation);
  for (int64_t& dilation : dilations) --dilation;
  return {.x = ChannelsLast(conv.batch, conv.in_channels,
                            Each(window, &WindowDim::input), dtype),
          .y = ChannelsLast(conv.batch, conv.out_channels,
                            Each(window, &WindowDim::output), dtype),
          .filter = {FilterDims(conv), ElementType(filter_dtype),
                     memory::format_tag::any},
          .strides = Each(window, &WindowDim::stride),
          .dilations = std::move(dilations),
          .pad_before = Each(window, &WindowDim::pad_before),
          .pad_after = Each(window, &WindowDim::pad_after)};
}

// The stored filter, [O, spatial..., I / groups], in oneDNN's dimensions.
memory::desc StoredFilter(const ConvSpec& spec) {
  const memory::dims dims = FilterDims(spec.geometry);
  memory::dims strides(dims.size(), 1);
  const size_t in_axis = dims.size() - spec.geometry.window.size() - 1;
  int64_t stride = dims[in_axis];
  for (size_t axis = dims.size() - 1; axis > in_axis; --axis) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  for (size_t axis = in_axis; axis > 0; --axis) {
    strides[axis - 1] = stride;
    stride *= dims[axis - 1];
  }
  return Strided(dims, strides, spec.filter.dtype);
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

// Whether a primitive uses oneDNN's sgemm, which allocates blocks internally in
// every run, whatever scratchpad it was given.
bool IsOverGemm(const dnnl::primitive_desc_base& desc) {
  const std::string name = desc.impl_info_str();
  return name.starts_with("gemm:") || name.find(":gemm:") != std::string::npos;
}

// Adds a copy of the filter in the layout and dtype of `wanted`.
Place AddFilter(const ConvSpec& spec, const memory::desc& wanted,
                OneDnnProgram& program) {
  const Place place = program.Reserve(wanted);
  program.AddReorder(StoredFilter(spec), spec.filter.place, wanted, place);
  return place;
}

// Whether dx is a convolution of dy with non-negative padding.
bool HasForwardGradient(const ConvGeometry& conv) {
  return std::ranges::all_of(conv.window, [](const WindowDim& dim) {
    return dim.stride == 1 && dim.pad_before < dim.extent() &&
           dim.pad_after < dim.extent();
  });
}

// All channels of element `tap` of the window, counted in row-major order.
memory::desc Tap(const memory::desc& filter, size_t spatial, int64_t tap) {
  memory::dims dims = filter.dims();
  memory::dims offsets(dims.size(), 0);
  for (size_t i = 1; i <= spatial; ++i) {
    int64_t& size = dims[dims.size() - i];
    offsets[dims.size() - i] = tap % size;
    tap /= size;
    size = 1;
  }
  return filter.submemory_desc(dims, offsets);
}

// The same bytes with the dimensions O and I exchanged.
memory::desc ExchangeChannels(const memory::desc& filter, size_t spatial) {
  std::vector<int> order(filter.dims().size());
  std::iota(order.begin(), order.end(), 0);
  const size_t in_axis = order.size() - spatial - 1;
  std::swap(order[in_axis - 1], order[in_axis]);
  return filter.permute_axes(order);
}

// Adds a copy of the filter in the layout and dtype of `wanted`, with channels
// exchanged and rotated: tap by tap, so that the last tap becomes the first.
Place AddTurnedFilter(const ConvSpec& spec, const memory::desc& wanted,
                      OneDnnProgram& program) {
  const Place place = program.Reserve(wanted);
  const Window& window = spec.geometry.window;
  const memory::desc filter =
      ExchangeChannels(StoredFilter(spec), window.size());
  int64_t taps = 1;
  for (const WindowDim& dim : window) taps *= dim.size;
  for (int64_t tap = 0; tap < taps; ++tap) {
    program.AddReorder(Tap(filter, window.size(), tap), spec.filter.place,
                       Tap(wanted, window.size(), taps - 1 - tap), place);
  }
  return place;
}

NewKernel InputGradientByForward(const ConvSpec& spec) {
  return MakeOneDnnKernel(spec.threads, [&](OneDnnProgram& program) {
    const DType dtype = spec.y.dtype;
    const auto desc =
        Forward(MakeProblem(BackwardConv(spec.geometry), dtype, dtype),
                program.engine());
    const Place filter = AddTurnedFilter(spec, desc.weights_desc(), program);
    AddForward(desc, spec.y.place, filter, spec.x.place, program);
  });
}

NewKernel InputGradient(const ConvSpec& spec) {
  return MakeOneDnnKernel(spec.threads, [&](OneDnnProgram& program) {
    const DType dtype = spec.y.dtype;
    const Problem problem = MakeProblem(spec.geometry, dtype, dtype);
    const dnnl::convolution_backward_data::primitive_desc desc(
        {kDirect, problem.x, problem.filter, problem.y, problem.strides,
         problem.dilations, problem.pad_before, problem.pad_after},
        OneDnnProgram::UserScratchpad(), program.engine(),
        Forward(problem, program.engine()));
    const Place filter = AddFilter(spec, desc.weights_desc(), program);
    program.Add(
        {.primitive = dnnl::convolution_backward_data(desc),
         .arguments = {{DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), spec.y.place},
                       {DNNL_ARG_WEIGHTS, desc.weights_desc(), filter},
                       {DNNL_ARG_DIFF_SRC, desc.diff_src_desc(),
                        spec.x.place}}},
        desc.scratchpad_desc());
  });
}

// oneDNN 2.6 writes beyond the scratchpad that it requested, by up to 2 KiB, in
// its filter gradient of 1x1 convolutions whose stride is not 1: for AVX2 (seen
// with few channels), and for AVX-512 with several threads and fewer than 16
// input channels, in float32 and bfloat16. No write was seen with more than 16;
// a multiple of 16 has no block that is filled in part.
bool IsBroken(const dnnl::primitive_desc_base& desc, const ConvGeometry& conv) {
  const std::string name = desc.impl_info_str();
  const bool may_be_broken = name.starts_with("jit_1x1:avx2") ||
                             ((name.starts_with("jit_1x1:avx512") ||
                               name.starts_with("jit_bf16_1x1:avx512")) &&
                              conv.in_channels % 16 != 0);
  return may_be_broken &&
         std::ranges::any_of(
             conv.window, [](const WindowDim& dim) { return dim.stride != 1; });
}

// For activations of `dtype`.
dnnl::convolution_backward_weights::primitive_desc FilterGradientDesc(
    const ConvSpec& spec, DType dtype, const dnnl::engine& engine) {
  const Problem problem = MakeProblem(spec.geometry, dtype, spec.filter.dtype);
  // next_impl borrows all three objects below
  const dnnl::primitive_attr attributes = OneDnnProgram::UserScratchpad();
  const dnnl::convolution_forward::primitive_desc forward =
      Forward(MakeProblem(spec.geometry, dtype, dtype), engine);
  const dnnl::convolution_backward_weights::desc operation(
      kDirect, problem.x, problem.filter, problem.y, problem.strides,
      problem.dilations, problem.pad_before, problem.pad_after);
  dnnl::convolution_backward_weights::primitive_desc desc(operation, attributes,
                                                          engine, forward);
  while (IsBroken(desc, spec.geometry)) {
    if (!desc.next_impl()) {
      throw dnnl::error(dnnl_unimplemented, "no other filter gradient");
    }
  }
  return desc;
}

// The place from which a tensor is read as `wanted`: a copy if its dtype
// differs.
Place AddActivations(const ConvTensor& tensor, const memory::desc& stored,
                     const memory::desc& wanted, OneDnnProgram& program) {
  if (stored == wanted) return tensor.place;
  const Place place = program.Reserve(wanted);
  program.AddReorder(stored, tensor.place, wanted, place);
  return place;
}

void AddFilterGradient(
    const ConvSpec& spec,
    const dnnl::convolution_backward_weights::primitive_desc& desc,
    OneDnnProgram& program) {
  const memory::desc gradient = desc.diff_weights_desc();
  const Problem stored =
      MakeProblem(spec.geometry, spec.x.dtype, spec.filter.dtype);
  const Place x = AddActivations(spec.x, stored.x, desc.src_desc(), program);
  const Place dy =
      AddActivations(spec.y, stored.y, desc.diff_dst_desc(), program);
  const Place place = program.Reserve(gradient);
  program.Add({.primitive = dnnl::convolution_backward_weights(desc),
               .arguments = {{DNNL_ARG_SRC, desc.src_desc(), x},
                             {DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), dy},
                             {DNNL_ARG_DIFF_WEIGHTS, gradient, place}}},
              desc.scratchpad_desc());
  program.AddReorder(gradient, place, StoredFilter(spec), spec.filter.place);
}

// Without AVX-512, oneDNN's matrix products use its sgemm too.
bool CanUsePatches(const ConvGeometry& conv) {
  return conv.groups == 1 && HasSmallPatches(conv) && HasAvx512();
}

// Computed in `dtype`, by a primitive of oneDNN for this gradient. A primitive
// that uses oneDNN's sgemm is UNIMPLEMENTED unless `may_use_gemm`.
NewKernel DirectFilterGradient(const ConvSpec& spec, DType dtype,
                               bool may_use_gemm) {
  bool is_over_gemm = false;
  NewKernel kernel =
      MakeOneDnnKernel(spec.threads, [&](OneDnnProgram& program) {
        const auto desc = FilterGradientDesc(spec, dtype, program.engine());
        is_over_gemm = IsOverGemm(desc);
        AddFilterGradient(spec, desc, program);
      });
  if (kernel.ok() && is_over_gemm && !may_use_gemm) {
    return Unimplemented("oneDNN has no filter gradient of its own for this");
  }
  return kernel;
}

using WinogradKernel = NewKernel (*)(const ConvSpec& spec,
                                     const WinogradTile& tile);

// Adds Winograd's algorithm where there is one: before the others where it is
// likely to be the fastest.
void AddWinograd(const ConvSpec& spec, WinogradKernel make,
                 std::vector<Alternative>& alternatives) {
  std::vector<Alternative> winograd;
  for (const WinogradTile& tile : WinogradTilesOf(spec.geometry)) {
    winograd.push_back({tile.algorithm(), [=] { return make(spec, tile); }});
  }
  const auto place =
      PrefersWinograd(spec) ? alternatives.begin() : alternatives.end();
  alternatives.insert(place, winograd.begin(), winograd.end());
}

NewKernel DirectOrWinograd(const ConvSpec& spec,
                           NewKernel (*direct)(const ConvSpec&),
                           WinogradKernel winograd,
                           std::string_view algorithm) {
  std::vector<Alternative> alternatives = {
      {"direct", [=] { return direct(spec); }}};
  AddWinograd(spec, winograd, alternatives);
  return MakeOneOf(std::move(alternatives), algorithm);
}

NewKernel DirectForward(const ConvSpec& spec) {
  return MakeOneDnnKernel(spec.threads, [&](OneDnnProgram& program) {
    const DType dtype = spec.x.dtype;
    const auto desc =
        Forward(MakeProblem(spec.geometry, dtype, dtype), program.engine());
    const Place filter = AddFilter(spec, desc.weights_desc(), program);
    AddForward(desc, spec.x.place, filter, spec.y.place, program);
  });
}

NewKernel DirectInputGradient(const ConvSpec& spec) {
  return HasForwardGradient(spec.geometry) ? InputGradientByForward(spec)
                                           : InputGradient(spec);
}

NewKernel FilterGradient(const ConvSpec& spec, std::string_view algorithm) {
  const bool can_use_patches = CanUsePatches(spec.geometry);
  const Alternative direct = {
      "direct", [spec, may_use_gemm = !can_use_patches] {
        return DirectFilterGradient(spec, spec.x.dtype, may_use_gemm);
      }};
  std::vector<Alternative> alternatives = {direct};
  if (can_use_patches) {
    alternatives.push_back(
        {"patches", [spec] { return MakePatchesFilterGradientKernel(spec); }});
    if (absl::IsUnimplemented(direct.make().status())) {
      alternatives.erase(alternatives.begin());
    }
  }
  if (spec.x.dtype != DType::kFloat32) {
    alternatives.push_back({"float32", [spec] {
                              return DirectFilterGradient(
                                  spec, DType::kFloat32,
                                  /*may_use_gemm=*/false);
                            }});
  }
  AddWinograd(spec, MakeWinogradFilterGradientKernel, alternatives);
  return MakeOneOf(std::move(alternatives), algorithm);
}

}  // namespace

NewKernel MakeConvKernel(const ConvSpec& spec, std::string_view algorithm) {
  const ConvGeometry& conv = spec.geometry;
  if (IsPointwise(conv)) {
    return MakeMatMulKernel({.m = Pixels(conv),
                             .k = conv.in_channels,
                             .n = conv.out_channels,
                             .transpose_b = true,
                             .a = spec.x.place.index,
                             .b = spec.filter.place.index,
                             .a_dtype = spec.x.dtype,
                             .b_dtype = spec.filter.dtype,
                             .y_dtype = spec.y.dtype},
                            spec.threads);
  }
  return DirectOrWinograd(spec, DirectForward, MakeWinogradKernel, algorithm);
}

NewKernel MakeConvInputGradientKernel(const ConvSpec& spec,
                                      std::string_view algorithm) {
  const ConvGeometry& conv = spec.geometry;
  if (IsPointwise(conv)) {
    return MakeMatMulKernel({.m = Pixels(conv),
                             .k = conv.out_channels,
                             .n = conv.in_channels,
                             .a = spec.y.place.index,
                             .b = spec.filter.place.index,
                             .a_dtype = spec.y.dtype,
                             .b_dtype = spec.filter.dtype,
                             .y_dtype = spec.x.dtype,
                             .adds_to_y = spec.adds_to_x},
                            spec.threads);
  }
  return DirectOrWinograd(spec, DirectInputGradient,
                          MakeWinogradInputGradientKernel, algorithm);
}

NewKernel MakeConvFilterGradientKernel(const ConvSpec& spec,
                                       std::string_view algorithm) {
  const ConvGeometry& conv = spec.geometry;
  if (IsPointwise(conv)) {
    return MakeMatMulKernel({.m = conv.out_channels,
                             .k = Pixels(conv),
                             .n = conv.in_channels,
                             .transpose_a = true,
                             .a = spec.y.place.index,
                             .b = spec.x.place.index,
                             .a_dtype = spec.y.dtype,
                             .b_dtype = spec.x.dtype,
                             .y_dtype = spec.filter.dtype},
                            spec.threads);
  }
  return HasOwnFilterGradient(conv) ? MakeDepthwiseFilterGradientKernel(spec)
                                    : FilterGradient(spec, algorithm);
}

}  // namespace spillway
