#include "ops/cpu/conv/winograd.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/kernel.h"
#include "fmt/format.h"
#include "ops/cpu/conv/winograd_passes.h"
#include "ops/cpu/conv/winograd_plan.h"
#include "ops/cpu/conv/winograd_transform.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/matmul_kernel.h"
#include "ops/cpu/parallel.h"

namespace spillway {
namespace {

// The batches of products of the teams' blocks, each between parts of the
// workspace.
class Products {
 public:
  // Errors: as MakeMatMulKernel.
  static absl::StatusOr<Products> Make(MatMulSpec spec,
                                       const WinogradPlan& conv) {
    spec.batch = conv.points;
    Products products;
    for (int team = 0; team < conv.teams; ++team) {
      SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> product,
                                MakeMatMulKernel(spec, conv.team_threads));
      products.by_team_.push_back(std::move(product));
    }
    return products;
  }

  // Of one team.
  int64_t workspace_floats() const {
    return AlignUp(by_team_[0]->workspace_bytes(),
                   kWinogradAlignment * kFloatBytes) /
           kFloatBytes;
  }

  absl::Status Run(int64_t team, float* a, float* b, float* y,
                   float* workspace) const {
    const std::array<void*, 2> factors = {a, b};
    const std::array<void*, 1> results = {y};
    return by_team_[static_cast<size_t>(team)]->Run(
        {.inputs = factors, .outputs = results, .workspace = workspace});
  }

 private:
  std::vector<std::unique_ptr<Kernel>> by_team_;
};

// A convolution of `from` that gives `to`: of x, or of dy by the filters turned
// and with their channels exchanged.
struct ForwardSpec {
  WinogradPlan conv = {};
  bool is_turned = false;
  int from = 0;  // inputs
  int filter = 0;

  // A product reads the filter as it lies, or with its channels exchanged in
  // memory: this pays for small filters, which many blocks read.
  bool is_transposed() const { return !is_turned && conv.has_small_filter(); }
  int64_t from_channels() const {
    return is_turned ? conv.out_channels : conv.in_channels;
  }
  int64_t to_channels() const {
    return is_turned ? conv.in_channels : conv.out_channels;
  }
};

// As the products of `spec` read it.
template <typename F, typename T, typename Filter>
void TransformFilterFor(const ForwardSpec& spec, const Filter* stored,
                        float* to) {
  if (spec.is_transposed()) {
    TransformTransposedFilter<F, T>(spec.conv, stored, to);
  } else {
    TransformFilter<F, T>(spec.conv, stored, spec.is_turned, to);
  }
}

template <typename F, typename T, typename Filter>
class ForwardKernel final : public Kernel {
 public:
  ForwardKernel(const ForwardSpec& spec, Products products)
      : spec_(spec),
        products_(std::move(products)),
        team_floats_(spec.conv.blocks_floats() + products_.workspace_floats()) {
  }

  // The filter; and of each team the pixels and products of a block, and what
  // its products need.
  int64_t workspace_bytes() const override {
    return kFloatBytes *
           (spec_.conv.filter_floats() + spec_.conv.teams * team_floats_);
  }

  absl::Status Run(const KernelContext& context) override {
    auto* filter = static_cast<float*>(context.workspace);
    TransformFilterFor<F, T>(
        spec_, context.input<Filter>(static_cast<size_t>(spec_.filter)),
        filter);
    return spec_.conv.ForEachBlock([&](int64_t team, const TileBlock& block) {
      return RunBlock(context, team, block);
    });
  }

 private:
  absl::Status RunBlock(const KernelContext& context, int64_t team,
                        const TileBlock& block) const {
    const WinogradPlan& conv = spec_.conv;
    const auto x =
        conv.tiles.input(context.input<T>(static_cast<size_t>(spec_.from)),
                         spec_.from_channels());
    const auto y = conv.tiles.output(context.output<T>(0), spec_.to_channels());
    auto* filter = static_cast<float*>(context.workspace);
    float* pixels = filter + conv.filter_floats() + team * team_floats_;
    float* sums = pixels + conv.block_floats(x.channels);
    float* rest = sums + conv.block_floats(y.channels);
    TransformInput<F, T>(conv, block, x, pixels);
    SPILLWAY_RETURN_IF_ERROR(products_.Run(team, pixels, filter, sums, rest));
    TransformOutput<F, T>(conv, block, sums, y);
    return absl::OkStatus();
  }

  const ForwardSpec spec_;
  const Products products_;
  const int64_t team_floats_;
};

template <typename F, typename T, typename Filter>
NewKernel MakeForwardKernel(const ForwardSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(
      Products products,
      Products::Make({.m = spec.conv.block_tiles,
                      .k = spec.from_channels(),
                      .n = spec.to_channels(),
                      .transpose_b = !spec.is_turned && !spec.is_transposed()},
                     spec.conv));
  return std::make_unique<ForwardKernel<F, T, Filter>>(spec,
                                                       std::move(products));
}

constexpr int64_t kSumsGrain = 4096;  // floats

// All teams' sums are `stride` floats apart.
void ClearSums(const WinogradPlan& conv, int64_t stride, float* sums) {
  ParallelFor(conv.threads(), conv.filter_floats(), kSumsGrain,
              [&](int64_t begin, int64_t end) {
                for (int team = 0; team < conv.teams; ++team) {
                  float* own = sums + team * stride;
                  std::fill(own + begin, own + end, 0.0F);
                }
              });
}

// Adds all teams' sums to those of the first.
void JoinSums(const WinogradPlan& conv, int64_t stride, float* sums) {
  if (conv.teams == 1) return;
  ParallelFor(conv.threads(), conv.filter_floats(), kSumsGrain,
              [&](int64_t begin, int64_t end) {
                for (int64_t team = 1; team < conv.teams; ++team) {
                  const float* other = sums + team * stride;
                  for (int64_t i = begin; i < end; ++i) sums[i] += other[i];
                }
              });
}

struct FilterGradientSpec {
  WinogradPlan conv = {};
  int x = 0;  // inputs
  int dy = 0;
};

template <typename F, typename T, typename Filter>
class FilterGradientKernel final : public Kernel {
 public:
  FilterGradientKernel(const FilterGradientSpec& spec, Products products)
      : spec_(spec),
        products_(std::move(products)),
        team_floats_(spec.conv.filter_floats() + spec.conv.blocks_floats() +
                     products_.workspace_floats()) {}

  // Of each team: sums of products, the pixels and gradients of a block, and
  // what its products need.
  int64_t workspace_bytes() const override {
    return kFloatBytes * spec_.conv.teams * team_floats_;
  }

  absl::Status Run(const KernelContext& context) override {
    const WinogradPlan& conv = spec_.conv;
    auto* sums = static_cast<float*>(context.workspace);
    ClearSums(conv, team_floats_, sums);
    SPILLWAY_RETURN_IF_ERROR(
        conv.ForEachBlock([&](int64_t team, const TileBlock& block) {
          return RunBlock(context, team, block);
        }));
    JoinSums(conv, team_floats_, sums);
    TransformFilterGradient<F>(conv, sums, context.output<Filter>(0));
    return absl::OkStatus();
  }

 private:
  absl::Status RunBlock(const KernelContext& context, int64_t team,
                        const TileBlock& block) const {
    const WinogradPlan& conv = spec_.conv;
    const auto x = conv.tiles.input(
        context.input<T>(static_cast<size_t>(spec_.x)), conv.in_channels);
    const auto dy = conv.tiles.output(
        context.input<T>(static_cast<size_t>(spec_.dy)), conv.out_channels);
    float* sums = static_cast<float*>(context.workspace) + team * team_floats_;
    float* pixels = sums + conv.filter_floats();
    float* gradients = pixels + conv.block_floats(x.channels);
    float* rest = gradients + conv.block_floats(dy.channels);
    TransformInput<F, T>(conv, block, x, pixels);
    PadBlock<F>(conv, block, x.channels, pixels);
    TransformOutputGradient<F, T>(conv, block, dy, gradients);
    PadBlock<F>(conv, block, dy.channels, gradients);
    return products_.Run(team, gradients, pixels, sums, rest);
  }

  const FilterGradientSpec spec_;
  const Products products_;
  const int64_t team_floats_;
};

template <typename F, typename T, typename Filter>
NewKernel MakeFilterGradientKernel(const FilterGradientSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(Products products,
                            Products::Make({.m = spec.conv.out_channels,
                                            .k = spec.conv.block_tiles,
                                            .n = spec.conv.in_channels,
                                            .transpose_a = true,
                                            .adds_to_y = true},
                                           spec.conv));
  return std::make_unique<FilterGradientKernel<F, T, Filter>>(
      spec, std::move(products));
}

template <int kDimensions, int kTile, int kTaps>
using Scheme = WinogradScheme<WinogradLine<kTile, kTaps>, kDimensions>;
using AllSchemes = std::tuple<Scheme<2, 4, 3>, Scheme<2, 2, 3>, Scheme<2, 2, 5>,
                              Scheme<1, 4, 3>, Scheme<1, 3, 7>>;

// Calls fn(F()) for the schemes for windows of this size; in a line, one size
// is 1.
template <typename Fn>
void ForEachScheme(const Window& window, const Fn& fn) {
  const auto suits = [&]<typename F>(F) {
    const int64_t other = F::kDimensions == 1 ? 1 : F::Line::kTaps;
    const auto [least, most] = std::minmax(window[0].size, window[1].size);
    return least == other && most == F::Line::kTaps;
  };
  const auto call = [&]<typename F>(F scheme) {
    if (suits(scheme)) fn(scheme);
  };
  std::apply([&](const auto&... scheme) { (call(scheme), ...); }, AllSchemes());
}

template <typename F>
WinogradTile TileOf(const Window& window) {
  const auto side = [](const WindowDim& dim) {
    return dim.size == 1 ? 1 : F::Line::kTile;
  };
  return {.height = side(window[0]), .width = side(window[1])};
}

// Calls make(F()) for the scheme with these tiles.
template <typename Make>
NewKernel ForTile(const ConvSpec& spec, const WinogradTile& tile,
                  const Make& make) {
  NewKernel kernel = Internal("no such tile");
  ForEachScheme(spec.geometry.window, [&]<typename F>(F scheme) {
    if (TileOf<F>(spec.geometry.window) == tile) kernel = make(scheme);
  });
  return kernel;
}

template <typename F>
NewKernel MakeForward(const ConvSpec& dtypes, const ForwardSpec& spec) {
  return ForConvStorage(dtypes, [&]<typename T, typename Filter>(T, Filter) {
    return MakeForwardKernel<F, T, Filter>(spec);
  });
}

}  // namespace

std::string WinogradTile::algorithm() const {
  return fmt::format("winograd_{}x{}", height, width);
}

std::vector<WinogradTile> WinogradTilesOf(const ConvGeometry& conv) {
  const auto is_dense = [](const WindowDim& dim) {
    return dim.stride == 1 && dim.dilation == 1;
  };
  std::vector<WinogradTile> tiles;
  if (HasAvx512() && conv.groups == 1 && conv.window.size() == 2 &&
      std::ranges::all_of(conv.window, is_dense)) {
    ForEachScheme(conv.window, [&]<typename F>(F) {
      tiles.push_back(TileOf<F>(conv.window));
    });
  }
  return tiles;
}

bool PrefersWinograd(const ConvSpec& spec) {
  constexpr int64_t kChannels = 32;
  const bool has_fast_direct =
      spec.x.dtype == DType::kBFloat16 && HasAmxBFloat16();
  return !has_fast_direct && spec.geometry.in_channels >= kChannels &&
         spec.geometry.out_channels >= kChannels;
}

NewKernel MakeWinogradKernel(const ConvSpec& spec, const WinogradTile& tile) {
  return ForTile(spec, tile, [&]<typename F>(F) {
    return MakeForward<F>(
        spec,
        {.conv = MakeWinogradPlan(spec, spec.geometry.window, tile, F::kPoints),
         .from = spec.x.place.index,
         .filter = spec.filter.place.index});
  });
}

NewKernel MakeWinogradInputGradientKernel(const ConvSpec& spec,
                                          const WinogradTile& tile) {
  const Window window = BackwardConv(spec.geometry).window;
  return ForTile(spec, tile, [&]<typename F>(F) {
    return MakeForward<F>(
        spec, {.conv = MakeWinogradPlan(spec, window, tile, F::kPoints),
               .is_turned = true,
               .from = spec.y.place.index,
               .filter = spec.filter.place.index});
  });
}

NewKernel MakeWinogradFilterGradientKernel(const ConvSpec& spec,
                                           const WinogradTile& tile) {
  return ForTile(spec, tile, [&]<typename F>(F) {
    const FilterGradientSpec gradient = {
        .conv = MakeWinogradPlan(spec, spec.geometry.window, tile, F::kPoints),
        .x = spec.x.place.index,
        .dy = spec.y.place.index};
    return ForConvStorage(spec, [&]<typename T, typename Filter>(T, Filter) {
      return MakeFilterGradientKernel<F, T, Filter>(gradient);
    });
  });
}

}  // namespace spillway
