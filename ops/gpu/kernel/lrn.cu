// A block processes as many whole rows as its shared arrays hold, so that their
// elements may be overwritten once they are loaded. A longer row is processed
// alone, through the block's part of the workspace.
//
//   dx[c] = dy[c] s[c]^-beta - 2 alpha beta x[c] sum of t[j] over the window
//   t[j]  = dy[j] x[j] s[j]^(-beta-1)
#include "ops/gpu/kernel/lrn.h"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

constexpr int kShared = 2048;  // elements of an array in shared memory
constexpr int kArrays = 3;
constexpr unsigned kBlocksOfLongRows = 264;

// Some rows, processed by one block at a time.
struct Piece {
  int64_t begin = 0;  // elements of x
  int size = 0;
};

// Calls fn(i) for this thread's elements of a piece.
template <typename Fn>
__device__ void ForEachOf(const Piece& piece, const Fn& fn) {
  for (int i = static_cast<int>(threadIdx.x); i < piece.size; i += kThreads) {
    fn(i);
  }
}

// All threads of a block get the same pieces.
template <typename Fn>
__device__ void ForEachPiece(const Lrn& lrn, const Fn& fn) {
  const int64_t fitting = kShared / lrn.channels;
  const int64_t each = fitting > 0 ? fitting : 1;
  for (int64_t row = blockIdx.x * each; row < lrn.rows;
       row += gridDim.x * each) {
    const int64_t left = lrn.rows - row;
    const int64_t rows = left < each ? left : each;
    fn(Piece{.begin = row * lrn.channels,
             .size = static_cast<int>(rows * lrn.channels)});
    __syncthreads();  // before the next piece overwrites the arrays
  }
}

// Array `i` of this block.
__device__ inline float* ArrayOf(const Lrn& lrn, float* shared,
                                 float* workspace, int i) {
  if (lrn.channels <= kShared) return shared + i * kShared;
  return workspace + (blockIdx.x * kArrays + i) * lrn.channels;
}

// The sum of a piece's `items` over the window around element i of its row.
__device__ inline float SumWindow(const Lrn& lrn, const float* items, int i) {
  const auto channels = static_cast<int>(lrn.channels);
  const auto radius = static_cast<int>(lrn.depth_radius);
  const int row = i / channels * channels;
  const int begin = i - radius > row ? i - radius : row;
  const int end = i + radius < row + channels ? i + radius + 1 : row + channels;
  float sum = 0;
  for (int j = begin; j < end; ++j) sum += items[j];
  return sum;
}

// s^-beta. Square roots are many times faster than powers, and networks use
// these two exponents.
__device__ inline float Power(const Lrn& lrn, float s) {
  if (lrn.beta == 0.5F) return 1 / sqrtf(s);
  if (lrn.beta != 0.75F) return powf(s, -lrn.beta);
  const float root = sqrtf(s);
  return 1 / (root * sqrtf(root));
}

template <typename T>
__global__ void LrnKernel(Lrn lrn, const T* x, T* y, float* workspace) {
  __shared__ float shared[kShared];
  float* squares = ArrayOf(lrn, shared, workspace, 0);
  ForEachPiece(lrn, [&](const Piece& piece) {
    ForEachOf(piece, [&](int i) {
      const float value = Load(x[piece.begin + i]);
      squares[i] = value * value;
    });
    __syncthreads();
    ForEachOf(piece, [&](int i) {
      const float s = lrn.bias + lrn.alpha * SumWindow(lrn, squares, i);
      y[piece.begin + i] = Store<T>(Load(x[piece.begin + i]) * Power(lrn, s));
    });
  });
}

template <typename T>
__global__ void LrnGradKernel(Lrn lrn, const T* dy, const T* x, T* dx,
                              float* workspace) {
  __shared__ float shared[kArrays * kShared];
  float* squares = ArrayOf(lrn, shared, workspace, 0);
  float* powers = ArrayOf(lrn, shared, workspace, 1);
  float* t = ArrayOf(lrn, shared, workspace, 2);
  const float factor = 2 * lrn.alpha * lrn.beta;
  ForEachPiece(lrn, [&](const Piece& piece) {
    ForEachOf(piece, [&](int i) {
      const float value = Load(x[piece.begin + i]);
      squares[i] = value * value;
    });
    __syncthreads();
    ForEachOf(piece, [&](int i) {
      const float s = lrn.bias + lrn.alpha * SumWindow(lrn, squares, i);
      const int64_t at = piece.begin + i;
      powers[i] = Power(lrn, s);
      t[i] = Load(dy[at]) * Load(x[at]) * powers[i] / s;
    });
    __syncthreads();
    ForEachOf(piece, [&](int i) {
      const int64_t at = piece.begin + i;
      dx[at] = Store<T>(Load(dy[at]) * powers[i] -
                        factor * Load(x[at]) * SumWindow(lrn, t, i));
    });
  });
}

unsigned BlocksOf(const Lrn& lrn) {
  if (lrn.channels <= kShared) {
    const int64_t rows = kShared / lrn.channels;
    return BlocksFor((lrn.rows + rows - 1) / rows * kThreads);
  }
  return lrn.rows < kBlocksOfLongRows ? static_cast<unsigned>(lrn.rows)
                                      : kBlocksOfLongRows;
}

}  // namespace

int64_t WorkspaceBytes(const Lrn& lrn) {
  if (lrn.channels <= kShared) return 0;
  return BlocksOf(lrn) * kArrays * lrn.channels *
         static_cast<int64_t>(sizeof(float));
}

LaunchError LrnForward(StreamHandle stream, const Lrn& lrn, const void* x,
                       void* y, void* workspace) {
  return ForStorage(lrn.dtype, [&]<typename T>(T) {
    return Launch(stream, LrnKernel<T>, dim3(BlocksOf(lrn)), dim3(kThreads),
                  lrn, static_cast<const T*>(x), static_cast<T*>(y),
                  static_cast<float*>(workspace));
  });
}

LaunchError LrnBackward(StreamHandle stream, const Lrn& lrn,
                        const LrnGradTensors& tensors) {
  return ForStorage(lrn.dtype, [&]<typename T>(T) {
    return Launch(stream, LrnGradKernel<T>, dim3(BlocksOf(lrn)), dim3(kThreads),
                  lrn, static_cast<const T*>(tensors.dy),
                  static_cast<const T*>(tensors.x), static_cast<T*>(tensors.dx),
                  static_cast<float*>(tensors.workspace));
  });
}

}  // namespace spillway::gpu
