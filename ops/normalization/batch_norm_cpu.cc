// Training makes two passes over x: one for the moments, one to normalise.
#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/channel_rows.h"
#include "ops/cpu/normalize_rows.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"
#include "ops/normalization/batch_norm.h"

namespace spillway::ops {
namespace {

// Channels whose moments one task joins.
constexpr int64_t kMomentGrain = 64;

// The operands of a run. The workspace is `factor` [C], then for each chunk its
// mean [C] and its sum of squared deviations from that mean [C].
template <typename T>
struct NormRun {
  ChannelRows size;
  BatchNormAttributes norm;
  int threads = 1;
  const T* x = nullptr;
  int64_t x_stride = 0;  // elements from row to row
  const float* scale = nullptr;
  const float* offset = nullptr;
  float* moving_mean = nullptr;
  float* moving_variance = nullptr;
  const T* side = nullptr;  // may be null
  T* y = nullptr;
  uint8_t* mask = nullptr;  // may be null
  float* mean = nullptr;
  float* inv_std = nullptr;
  float* factor = nullptr;  // scale * inv_std

  float* chunk_mean(int64_t chunk) const {
    return factor + (1 + 2 * chunk) * size.channels;
  }
  float* chunk_deviation(int64_t chunk) const {
    return chunk_mean(chunk) + size.channels;
  }
};

int64_t NormWorkspaceBytes(const ChannelRows& size) {
  return (1 + 2 * size.num_chunks()) * size.channels *
         static_cast<int64_t>(sizeof(float));
}

// Adds the distances of kRows rows from `shift`, and their squares.
template <int kRows, typename T>
void AddDistances(const NormRun<T>& run, int64_t row, const T* shift,
                  float* sums, float* squares) {
  const T* x = run.x + row * run.x_stride;
  const int64_t stride = run.x_stride;
#pragma omp simd
  for (int64_t c = 0; c < run.size.channels; ++c) {
    const float from = Load(shift[c]);
    float sum = 0;
    float square = 0;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float distance = Load(x[r * stride + c]) - from;
      sum += distance;
      square += distance * distance;
    }
    sums[c] += sum;
    squares[c] += square;
  }
}

// Distances are summed from the chunk's first row, and then moved to its mean:
// if the mean is far from zero, sums of x^2 would lose the variance.
template <typename T>
void ChunkMoments(const NormRun<T>& run, int64_t chunk) {
  const int64_t channels = run.size.channels;
  const Interval rows = run.size.chunk(chunk);
  const T* shift = run.x + rows.begin * run.x_stride;
  float* mean = run.chunk_mean(chunk);
  float* deviation = run.chunk_deviation(chunk);
  std::fill_n(mean, 2 * channels, 0.0F);
  ForEachRows(rows, [&]<int kRows>(RowCount<kRows>, int64_t row) {
    AddDistances<kRows>(run, row, shift, mean, deviation);
  });
  const float share = 1 / static_cast<float>(rows.length());
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    const float sum = mean[c];
    const float rest = deviation[c] - sum * sum * share;
    mean[c] = Load(shift[c]) + sum * share;
    deviation[c] = rest < 0 ? 0 : rest;  // a NaN stays NaN
  }
}

struct Moments {
  double mean[kMomentGrain] = {};
  double deviation[kMomentGrain] = {};  // sum of squared distances from mean
};

// The moments of the whole batch in the channels [first, last).
// Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for
// computing sample variances", 1979.
template <typename T>
Moments JoinChunks(const NormRun<T>& run, int64_t first, int64_t last) {
  Moments all;
  const int64_t channels = last - first;
  const auto n = static_cast<double>(run.size.rows);
  for (int64_t i = 0; i < run.size.num_chunks(); ++i) {
    const double share = static_cast<double>(run.size.chunk(i).length()) / n;
    const float* mean = run.chunk_mean(i) + first;
    for (int64_t c = 0; c < channels; ++c) all.mean[c] += share * mean[c];
  }
  for (int64_t i = 0; i < run.size.num_chunks(); ++i) {
    const auto rows = static_cast<double>(run.size.chunk(i).length());
    const float* mean = run.chunk_mean(i) + first;
    const float* deviation = run.chunk_deviation(i) + first;
    for (int64_t c = 0; c < channels; ++c) {
      const double distance = mean[c] - all.mean[c];
      all.deviation[c] += deviation[c] + rows * distance * distance;
    }
  }
  return all;
}

template <typename T>
void SetStatistics(const NormRun<T>& run, int64_t c, double mean,
                   double variance) {
  run.mean[c] = static_cast<float>(mean);
  run.inv_std[c] =
      static_cast<float>(1 / std::sqrt(variance + run.norm.epsilon));
  run.factor[c] = run.scale[c] * run.inv_std[c];
}

template <typename T>
void UpdateStatistics(const NormRun<T>& run, int64_t first, int64_t last) {
  const Moments all = JoinChunks(run, first, last);
  const auto n = static_cast<double>(run.size.rows);
  const double momentum = run.norm.momentum;
  const auto update = [=](float& moving, double batch) {
    moving = static_cast<float>(momentum * moving + (1 - momentum) * batch);
  };
  for (int64_t c = first; c < last; ++c) {
    const double mean = all.mean[c - first];
    const double deviation = all.deviation[c - first];
    SetStatistics(run, c, mean, deviation / n);
    update(run.moving_mean[c], mean);
    update(run.moving_variance[c], deviation / std::max(n - 1, 1.0));
  }
}

template <typename T>
void UseBatchStatistics(const NormRun<T>& run) {
  const int64_t channels = run.size.channels;
  ParallelFor(run.threads, run.size.num_chunks(), run.size.grain(),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) ChunkMoments(run, i);
              });
  const int64_t groups = (channels + kMomentGrain - 1) / kMomentGrain;
  ParallelFor(run.threads, groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      UpdateStatistics(run, i * kMomentGrain,
                       std::min((i + 1) * kMomentGrain, channels));
    }
  });
}

template <typename T>
void UseMovingStatistics(const NormRun<T>& run) {
  for (int64_t c = 0; c < run.size.channels; ++c) {
    SetStatistics(run, c, run.moving_mean[c], run.moving_variance[c]);
  }
}

template <typename T>
void Normalize(const NormRun<T>& run) {
  run.norm.is_training ? UseBatchStatistics(run) : UseMovingStatistics(run);
  NormalizeRows<T>({.size = run.size,
                    .activation = run.norm.activation,
                    .x = run.x,
                    .x_stride = run.x_stride,
                    .side = run.side,
                    .mean = run.mean,
                    .factor = run.factor,
                    .offset = run.offset,
                    .y = run.y,
                    .mask = run.mask},
                   run.threads);
}

}  // namespace

NewKernel FusedBatchNormCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const BatchNormAttributes norm,
                            ReadBatchNorm(node.attributes));
  const ChannelRows size(node.inputs[0].shape);
  const bool has_side = node.inputs.size() == 6;
  const int64_t x_stride = node.row_stride(0);
  const int threads = node.threads;
  return ForStorage(node.inputs[0], [=]<typename T>(T) -> NewKernel {
    const auto compute = [=](const KernelContext& context) {
      Normalize<T>({.size = size,
                    .norm = norm,
                    .threads = threads,
                    .x = context.input<T>(0),
                    .x_stride = x_stride,
                    .scale = context.input<float>(1),
                    .offset = context.input<float>(2),
                    .moving_mean = context.mutable_input<float>(3),
                    .moving_variance = context.mutable_input<float>(4),
                    .side = has_side ? context.input<T>(5) : nullptr,
                    .y = context.output<T>(0),
                    .mask = norm.mask ? context.output<uint8_t>(3) : nullptr,
                    .mean = context.output<float>(1),
                    .inv_std = context.output<float>(2),
                    .factor = static_cast<float*>(context.workspace)});
    };
    return MakeKernel(compute, NormWorkspaceBytes(size));
  });
}

}  // namespace spillway::ops
