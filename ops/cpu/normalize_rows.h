// The normalisation of rows of channels with known statistics:
//
//   y = activation((x - mean) * factor + offset [+ side])
//
// One function for FusedBatchNorm and BatchNormApply, whose results have to be
// bitwise identical. That holds wherever it is inlined, and for every vector
// width: no product and sum are contracted (-ffp-contract=off).
#ifndef SPILLWAY_OPS_CPU_NORMALIZE_ROWS_H_
#define SPILLWAY_OPS_CPU_NORMALIZE_ROWS_H_

#include <cstdint>
#include <limits>

#include "ops/common/fused_activation.h"
#include "ops/cpu/channel_rows.h"
#include "ops/cpu/mask_bits.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"

namespace spillway {

// y may be x or side.
template <typename T>
struct NormalizedRows {
  ChannelRows size;
  FusedActivation activation = FusedActivation::kNone;
  const T* x = nullptr;
  int64_t x_stride = 0;     // elements from row to row
  const T* side = nullptr;  // may be null
  const float* mean = nullptr;
  const float* factor = nullptr;  // scale * inv_std
  const float* offset = nullptr;
  T* y = nullptr;
  uint8_t* mask = nullptr;  // of y (mask_bits.h); may be null
};

// Without an activation the bounds are infinite. A NaN passes through.
template <typename T>
void NormalizeRow(const NormalizedRows<T>& run, int64_t row) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float least = run.activation == FusedActivation::kNone ? -kInfinity : 0;
  const float most = run.activation == FusedActivation::kRelu6 ? 6 : kInfinity;
  const auto activate = [=](float sum) {
    const float bounded = sum < least ? least : sum;
    return bounded > most ? most : bounded;
  };
  const int64_t at = row * run.size.channels;
  const T* x = run.x + row * run.x_stride;
  T* y = run.y + at;
  if (run.side != nullptr) {
    const T* side = run.side + at;
#pragma omp simd
    for (int64_t c = 0; c < run.size.channels; ++c) {
      const float sum = (Load(x[c]) - run.mean[c]) * run.factor[c] +
                        run.offset[c] + Load(side[c]);
      y[c] = Store<T>(activate(sum));
    }
  } else {
#pragma omp simd
    for (int64_t c = 0; c < run.size.channels; ++c) {
      const float sum =
          (Load(x[c]) - run.mean[c]) * run.factor[c] + run.offset[c];
      y[c] = Store<T>(activate(sum));
    }
  }
  if (run.mask != nullptr) {
    SaveMask(run.activation, y, run.size.channels, run.mask + at / 8);
  }
}

template <typename T>
void NormalizeRows(const NormalizedRows<T>& run, int threads) {
  const ChannelRows& size = run.size;
  ParallelFor(threads, size.num_chunks(), size.grain(),
              [&](int64_t begin, int64_t end) {
                const int64_t last = size.chunk(end - 1).end;
                for (int64_t row = size.chunk(begin).begin; row < last; ++row) {
                  NormalizeRow(run, row);
                }
              });
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_NORMALIZE_ROWS_H_
