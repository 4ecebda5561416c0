#include "ops/common/clip.h"
#include "ops/gpu/kernel/clip_gradient.h"
#include "ops/gpu/kernel/elementwise.cuh"
#include "ops/gpu/thread/reduce.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

using FloatVector = Vector<float>;

// Elements that are worth a block, and the most blocks: more than a GPU runs at
// once.
constexpr int64_t kSquaresOfBlock = int64_t{kThreads} * FloatVector::kSize * 8;
constexpr int64_t kMostBlocks = 1024;
constexpr int kVectorsLoaded = 4;

int64_t BlocksOf(int64_t n) {
  const int64_t blocks = n / kSquaresOfBlock;
  return blocks < 1 ? 1 : blocks < kMostBlocks ? blocks : kMostBlocks;
}

// Block: the part.
__global__ void SumSquaresOfPart(const float* x, int64_t n, double* sums) {
  const int64_t vectors = n / FloatVector::kSize;
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  double sum = 0;
  ForEachLoaded<kVectorsLoaded>(
      first, vectors, threads,
      [&](int64_t v) { return reinterpret_cast<const FloatVector*>(x)[v]; },
      [&](int64_t /*v*/, const FloatVector& loaded) {
        for (int i = 0; i < FloatVector::kSize; ++i) {
          sum += static_cast<double>(loaded.items[i]) * loaded.items[i];
        }
      });
  // The elements after the last whole vector.
  const int64_t rest = vectors * FloatVector::kSize + first;
  if (rest < n) sum += static_cast<double>(x[rest]) * x[rest];
  sum = BlockReduce(sum, 1, Plus());
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void AddParts(int64_t parts, const double* sums, float* y) {
  double sum = 0;
  for (int64_t part = threadIdx.x; part < parts; part += kThreads) {
    sum += sums[part];
  }
  sum = BlockReduce(sum, 1, Plus());
  if (threadIdx.x == 0) *y = static_cast<float>(sum);
}

__global__ void FactorOfNorm(float max_norm, float scale,
                             const float* square_sum, float* y) {
  const float norm = scale * sqrtf(*square_sum);
  *y = norm <= max_norm ? 1 : max_norm / norm;
}

struct Clip {
  float limit;

  __device__ float operator()(float x) const { return Clipped(x, limit); }
};

}  // namespace

int64_t SumSquaresWorkspaceBytes(int64_t n) {
  return BlocksOf(n) * static_cast<int64_t>(sizeof(double));
}

LaunchError SumSquares(StreamHandle stream, const float* x, int64_t n,
                       double* workspace, float* y) {
  const int64_t parts = BlocksOf(n);
  const LaunchError error =
      Launch(stream, SumSquaresOfPart, dim3(static_cast<unsigned>(parts)),
             dim3(kThreads), x, n, workspace);
  if (error != 0) return error;
  return Launch(stream, AddParts, dim3(1), dim3(kThreads), parts,
                static_cast<const double*>(workspace), y);
}

LaunchError NormFactor(StreamHandle stream, float max_norm, float scale,
                       const float* square_sum, float* y) {
  return Launch(stream, FactorOfNorm, dim3(1), dim3(1), max_norm, scale,
                square_sum, y);
}

LaunchError ClipByValue(StreamHandle stream, float limit, int64_t n,
                        const float* x, float* y) {
  return LaunchMapOf<float>(stream, Clip{limit}, n, y, x);
}

}  // namespace spillway::gpu
