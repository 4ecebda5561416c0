// With g = dy where the activation passes it, d = x - mean, and sums over the
// batch:
//   doffset = sum g    dscale = inv_std * sum(g d)    factor = scale * inv_std
//   dx = factor * g                                    with moving statistics
//   dx = factor * (g - doffset / n - d * inv_std * dscale / n)     in training
// Two passes over dy and x: one for the sums, one for dx.
#include <algorithm>

#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/channel_rows.h"
#include "ops/cpu/mask_bits.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"
#include "ops/normalization/batch_norm.h"

namespace spillway::ops {
namespace {

// Channels whose sums one task joins.
constexpr int64_t kSumGrain = 64;

// Where gradients pass: by the activation's y, which is read, or else computed
// again from x. (Where a mask is read, dy is masked before: kNone.)
template <FusedActivation kOf, bool kReadsY>
struct GradientMask {
  static constexpr FusedActivation kActivation = kOf;
  static constexpr bool kFromY = kReadsY;
  static constexpr bool kFromX = !kReadsY && kOf != FusedActivation::kNone;

  static float Apply(float y, float g) {
    if constexpr (kOf == FusedActivation::kRelu) return y > 0 ? g : 0;
    if constexpr (kOf == FusedActivation::kRelu6) {
      return static_cast<int>(y > 0) & static_cast<int>(y < 6) ? g : 0;
    }
    return g;
  }
};

// Calls fn(GradientMask()).
template <typename Fn>
void ForMask(FusedActivation activation, bool reads_y, const Fn& fn) {
  const auto call = [&]<FusedActivation kOf>() {
    reads_y ? fn(GradientMask<kOf, true>()) : fn(GradientMask<kOf, false>());
  };
  switch (activation) {
    case FusedActivation::kNone:
      return fn(GradientMask<FusedActivation::kNone, false>());
    case FusedActivation::kRelu:
      return call.template operator()<FusedActivation::kRelu>();
    case FusedActivation::kRelu6:
      return call.template operator()<FusedActivation::kRelu6>();
  }
}

// The operands of a run. The workspace is factor, slope and shift [C], then for
// each chunk sum g [C] and sum(g d) [C].
template <typename T>
struct NormGradRun {
  ChannelRows size;
  bool is_training = true;
  int threads = 1;
  const T* dy = nullptr;
  int64_t dy_stride = 0;  // elements from row to row
  const T* x = nullptr;
  int64_t x_stride = 0;
  const float* scale = nullptr;
  const float* offset = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  const T* y = nullptr;           // may be null
  const uint8_t* mask = nullptr;  // may be null
  T* dx = nullptr;
  float* dscale = nullptr;
  float* doffset = nullptr;
  T* dside = nullptr;       // with y or mask: g
  float* factor = nullptr;  // dx = factor * g - slope * d - shift

  // What the sums and dx are of: dy, unless it has been masked before.
  const T* g() const { return mask != nullptr ? dside : dy; }
  int64_t g_stride() const {
    return mask != nullptr ? size.channels : dy_stride;
  }
  float* slope() const { return factor + size.channels; }
  float* shift() const { return factor + 2 * size.channels; }
  float* chunk_sums(int64_t chunk) const {
    return factor + (3 + 2 * chunk) * size.channels;
  }
};

int64_t NormGradWorkspaceBytes(const ChannelRows& size) {
  return (3 + 2 * size.num_chunks()) * size.channels *
         static_cast<int64_t>(sizeof(float));
}

// g from x: recomputes y with exactly the same expression. (Storing it may
// round it up to 6.)
template <typename Mask, typename T>
float MaskByX(const NormGradRun<T>& run, int64_t c, float d, float g) {
  float y = d * run.factor[c] + run.offset[c];
  if constexpr (Mask::kActivation == FusedActivation::kRelu6)
    y = Load(Store<T>(y));
  return Mask::Apply(y, g);
}

template <typename Mask, int kRows, typename T>
void AddToSums(const NormGradRun<T>& run, int64_t row, float* sums_g,
               float* sums_gd) {
  const int64_t channels = run.size.channels;
  const int64_t dy_stride = run.g_stride();
  const T* dys = run.g() + row * dy_stride;
  const T* xs = run.x + row * run.x_stride;
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float sum_g = 0;
    float sum_gd = 0;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float d = Load(xs[r * run.x_stride + c]) - run.mean[c];
      float g = Load(dys[r * dy_stride + c]);
      if constexpr (Mask::kFromX) g = MaskByX<Mask>(run, c, d, g);
      if constexpr (Mask::kFromY) {
        const int64_t at = (row + r) * channels + c;
        g = Mask::Apply(Load(run.y[at]), g);
        run.dside[at] = Store<T>(g);
      }
      sum_g += g;
      sum_gd += g * d;
    }
    sums_g[c] += sum_g;
    sums_gd[c] += sum_gd;
  }
}

// dside of the rows [begin, end), by the mask.
template <typename T>
void MaskRows(const NormGradRun<T>& run, int64_t begin, int64_t end) {
  const int64_t channels = run.size.channels;
  for (int64_t row = begin; row < end; ++row) {
    ApplyMask(run.mask + row * channels / 8, run.dy + row * run.dy_stride,
              channels, run.dside + row * channels);
  }
}

template <typename Mask, typename T>
void SumChunk(const NormGradRun<T>& run, int64_t chunk) {
  float* sums = run.chunk_sums(chunk);
  std::fill_n(sums, 2 * run.size.channels, 0.0F);
  ForEachRows(
      run.size.chunk(chunk), [&]<int kRows>(RowCount<kRows>, int64_t row) {
        if (run.mask != nullptr) MaskRows(run, row, row + kRows);
        AddToSums<Mask, kRows>(run, row, sums, sums + run.size.channels);
      });
}

template <typename Mask, typename T>
void SumChunks(const NormGradRun<T>& run) {
  ParallelFor(run.threads, run.size.num_chunks(), run.size.grain(),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) SumChunk<Mask>(run, i);
              });
}

template <typename T>
void SetGradients(const NormGradRun<T>& run, int64_t c, double sum_g,
                  double sum_gd) {
  const double inv_std = run.inv_std[c];
  const auto n = static_cast<double>(run.size.rows);
  const double share = run.is_training ? run.factor[c] / n : 0;
  run.doffset[c] = static_cast<float>(sum_g);
  run.dscale[c] = static_cast<float>(inv_std * sum_gd);
  run.shift()[c] = static_cast<float>(share * sum_g);
  run.slope()[c] = static_cast<float>(share * inv_std * inv_std * sum_gd);
}

// For the channels [first, last).
template <typename T>
void JoinChunks(const NormGradRun<T>& run, int64_t first, int64_t last) {
  double sum_g[kSumGrain] = {};
  double sum_gd[kSumGrain] = {};
  for (int64_t i = 0; i < run.size.num_chunks(); ++i) {
    const float* g = run.chunk_sums(i) + first;
    const float* gd = g + run.size.channels;
    for (int64_t c = 0; c < last - first; ++c) {
      sum_g[c] += g[c];
      sum_gd[c] += gd[c];
    }
  }
  for (int64_t c = first; c < last; ++c) {
    SetGradients(run, c, sum_g[c - first], sum_gd[c - first]);
  }
}

template <typename Mask, typename T>
void GradientRow(const NormGradRun<T>& run, int64_t row) {
  const int64_t at = row * run.size.channels;
  const T* dy = Mask::kFromY ? run.dside + at : run.g() + row * run.g_stride();
  const T* x = run.x + row * run.x_stride;
  const float* slope = run.slope();
  const float* shift = run.shift();
  T* dx = run.dx + at;
#pragma omp simd
  for (int64_t c = 0; c < run.size.channels; ++c) {
    const float d = Load(x[c]) - run.mean[c];
    float g = Load(dy[c]);
    if constexpr (Mask::kFromX) g = MaskByX<Mask>(run, c, d, g);
    dx[c] = Store<T>(run.factor[c] * g - slope[c] * d - shift[c]);
  }
}

template <typename Mask, typename T>
void GradientOfX(const NormGradRun<T>& run) {
  const ChannelRows& size = run.size;
  ParallelFor(run.threads, size.num_chunks(), size.grain(),
              [&](int64_t begin, int64_t end) {
                const int64_t last = size.chunk(end - 1).end;
                for (int64_t row = size.chunk(begin).begin; row < last; ++row) {
                  GradientRow<Mask>(run, row);
                }
              });
}

template <typename Mask, typename T>
void ComputeGradient(const NormGradRun<T>& run) {
  const ChannelRows& size = run.size;
  for (int64_t c = 0; c < size.channels; ++c) {
    run.factor[c] = run.scale[c] * run.inv_std[c];
  }
  SumChunks<Mask>(run);
  const int64_t groups = (size.channels + kSumGrain - 1) / kSumGrain;
  ParallelFor(run.threads, groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      JoinChunks(run, i * kSumGrain,
                 std::min((i + 1) * kSumGrain, size.channels));
    }
  });
  GradientOfX<Mask>(run);
}

}  // namespace

NewKernel FusedBatchNormGradCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const BatchNormAttributes norm,
                            ReadBatchNorm(node.attributes));
  const ChannelRows size(node.inputs[1].shape);
  const bool has_side = node.inputs.size() == 7;
  const bool has_y = has_side && !norm.mask;
  const int64_t dy_stride = node.row_stride(0);
  const int64_t x_stride = node.row_stride(1);
  const int threads = node.threads;
  return ForStorage(node.inputs[1], [=]<typename T>(T) -> NewKernel {
    const auto compute = [=](const KernelContext& context) {
      const NormGradRun<T> run = {
          .size = size,
          .is_training = norm.is_training,
          .threads = threads,
          .dy = context.input<T>(0),
          .dy_stride = dy_stride,
          .x = context.input<T>(1),
          .x_stride = x_stride,
          .scale = context.input<float>(2),
          .offset = context.input<float>(3),
          .mean = context.input<float>(4),
          .inv_std = context.input<float>(5),
          .y = has_y ? context.input<T>(6) : nullptr,
          .mask = norm.mask ? context.input<uint8_t>(6) : nullptr,
          .dx = context.output<T>(0),
          .dscale = context.output<float>(1),
          .doffset = context.output<float>(2),
          .dside = has_side ? context.output<T>(3) : nullptr,
          .factor = static_cast<float*>(context.workspace)};
      ForMask(norm.mask ? FusedActivation::kNone : norm.activation, has_y,
              [&]<typename Mask>(Mask) { ComputeGradient<Mask>(run); });
    };
    return MakeKernel(compute, NormGradWorkspaceBytes(size));
  });
}

}  // namespace spillway::ops
