#include <limits>
#include <type_traits>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "ops/gpu/kernel/cast.h"
#include "ops/gpu/thread/launch.cuh"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

// x, or the nearer end of To's range.
template <typename To, typename From>
__device__ To Clamped(From x) {
  constexpr To kLeast = std::numeric_limits<To>::min();
  constexpr To kMost = std::numeric_limits<To>::max();
  if (x <= static_cast<From>(kLeast)) return kLeast;
  if (x >= static_cast<From>(kMost)) return kMost;
  return static_cast<To>(x);
}

template <typename To, typename From>
__device__ To Convert(From x) {
  if constexpr (std::is_same_v<From, BFloat16> ||
                std::is_same_v<From, Float16>) {
    return Convert<To>(ToFloat(x));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return ToBFloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Float16>) {
    return ToFloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<To, float>) {
    return static_cast<float>(x);
  } else if constexpr (std::is_same_v<From, float>) {
    return x == x ? Clamped<To>(x) : To{0};  // NaN becomes 0
  } else {
    // Through 64 bits, which hold every integer type used here.
    return Clamped<To>(static_cast<int64_t>(x));
  }
}

// Packs are 16 bytes of the wider type. The first threads also handle the last
// elements, which are too few for a pack.
template <typename To, typename From>
constexpr int kPackSize = 16 / (sizeof(To) > sizeof(From) ? sizeof(To)
                                                          : sizeof(From));

// Packs that a thread loads before it converts the first.
constexpr int kPacksAtOnce = 2;

template <typename To, typename From>
__global__ void CastKernel(int64_t n, const From* x, To* y) {
  constexpr int kSize = kPackSize<To, From>;
  const int64_t packs = n / kSize;
  ForEachItem<kPacksAtOnce>(
      packs, [&](int64_t p) { return PacksOf<kSize>(x)[p]; },
      [&](int64_t p, const Pack<From, kSize>& from) {
        Pack<To, kSize> to;
        for (int i = 0; i < kSize; ++i) {
          to.items[i] = Convert<To>(from.items[i]);
        }
        PacksOf<kSize>(y)[p] = to;
      });
  ForEachItem(n - packs * kSize, [&](int64_t i) {
    const int64_t at = packs * kSize + i;
    y[at] = Convert<To>(x[at]);
  });
}

}  // namespace

LaunchError RunCast(StreamHandle stream, const Cast& cast, const void* x,
                    void* y) {
  return ForAnyStorage(cast.from, [&]<typename From>(From) {
    return ForAnyStorage(cast.to, [&]<typename To>(To) {
      return Launch(stream, CastKernel<To, From>,
                    dim3(BlocksFor(cast.n, kPacksAtOnce * kPackSize<To, From>)),
                    dim3(kThreads), cast.n, static_cast<const From*>(x),
                    static_cast<To*>(y));
    });
  });
}

}  // namespace spillway::gpu
