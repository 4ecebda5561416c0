// Division of indices for CUDA sources: in 32 bits if both numbers fit, since
// GPUs divide those several times faster.
#ifndef SPILLWAY_OPS_GPU_THREAD_DIVIDE_CUH_
#define SPILLWAY_OPS_GPU_THREAD_DIVIDE_CUH_

#include <cstdint>

#include "ops/gpu/thread/launch.cuh"

namespace spillway::gpu {

// a / b, for a >= 0 and b > 0.
__device__ inline int64_t Divide(int64_t a, int64_t b) {
  if (((a | b) >> 32) != 0) return a / b;
  return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
}

// a % b, likewise.
__device__ inline int64_t Remainder(int64_t a, int64_t b) {
  return a - Divide(a, b) * b;
}

// A divisor n > 0, prepared on the host so that dividing by it is a product and
// a shift. With 2^(l-1) < n <= 2^l, and m = 2^(31+l) / n rounded up to the next
// integer, a / n is a m / 2^(31+l) for all a below 2^31.
// Source: Granlund, Montgomery, "Division by invariant integers using
// multiplication", PLDI 1994, section 4.
class Divisor {
 public:
  explicit Divisor(int64_t n) : n_(n) {
    if (n >> 31 != 0) return;
    shift_ = 31;
    while (n > int64_t{1} << (shift_ - 31)) ++shift_;
    multiplier_ = static_cast<uint32_t>((uint64_t{1} << shift_) / n + 1);
  }

  __host__ __device__ int64_t n() const { return n_; }

  // a / n, for a >= 0.
  __device__ int Divide(int a) const {
    return static_cast<int>(static_cast<uint64_t>(a) * multiplier_ >> shift_);
  }
  __device__ int64_t Divide(int64_t a) const {
    return a >> 31 == 0 ? Divide(static_cast<int>(a)) : a / n_;
  }

  // Stores a / n in a; returns the remainder.
  __device__ int64_t Split(int64_t& a) const {
    const int64_t all = a;
    a = Divide(all);
    return all - a * n_;
  }

 private:
  int64_t n_;
  uint32_t multiplier_ = 0;  // 0 if n exceeds all a below 2^31
  int shift_ = 0;
};

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_DIVIDE_CUH_
