#include <limits>

#include "ops/common/clip.h"
#include "ops/gpu/kernel/all_reduce.h"
#include "ops/gpu/thread/launch.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

// Parts begin at any element, so elements are moved one by one.
constexpr int kElementsAtOnce = 4;

template <typename Wire>
__global__ void PackKernel(BucketParts bucket, float scale, float limit,
                           const float* weight, Wire* packed) {
  const BucketPart& part = bucket.parts[blockIdx.y];
  const float factor = *weight * scale;
  ForEachItem<kElementsAtOnce>(
      part.n, [&](int64_t i) { return part.x[i]; },
      [&](int64_t i, float x) {
        packed[part.first + i] = Store<Wire>(factor * Clipped(x, limit));
      });
}

template <typename Wire>
__global__ void UnpackKernel(BucketParts bucket, float factor,
                             const Wire* packed) {
  const BucketPart& part = bucket.parts[blockIdx.y];
  ForEachItem<kElementsAtOnce>(
      part.n, [&](int64_t i) { return packed[part.first + i]; },
      [&](int64_t i, Wire sum) { part.y[i] = factor * Load(sum); });
}

// Enough for the largest part; the others leave the rest idle.
dim3 BlocksOf(const BucketParts& bucket) {
  int64_t most = 0;
  for (int i = 0; i < bucket.count; ++i) {
    most = bucket.parts[i].n > most ? bucket.parts[i].n : most;
  }
  return dim3(BlocksFor(most, kElementsAtOnce),
              static_cast<unsigned>(bucket.count));
}

}  // namespace

LaunchError PackBucket(StreamHandle stream, const BucketParts& bucket,
                       DType wire, float scale, float clip, const float* weight,
                       void* packed) {
  const float limit = clip > 0 ? clip : std::numeric_limits<float>::infinity();
  return ForStorage(wire, [&]<typename Wire>(Wire) {
    return Launch(stream, PackKernel<Wire>, BlocksOf(bucket), dim3(kThreads),
                  bucket, scale, limit, weight, static_cast<Wire*>(packed));
  });
}

LaunchError UnpackBucket(StreamHandle stream, const BucketParts& bucket,
                         DType wire, float factor, const void* packed) {
  return ForStorage(wire, [&]<typename Wire>(Wire) {
    return Launch(stream, UnpackKernel<Wire>, BlocksOf(bucket), dim3(kThreads),
                  bucket, factor, static_cast<const Wire*>(packed));
  });
}

}  // namespace spillway::gpu
