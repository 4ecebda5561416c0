// CUDA kernels on the CPU: every thread of a block is a fiber with its own
// stack, all on one system thread. Barriers and shuffles yield to the other
// fibers until all participants have arrived; a fiber that ends early, or a
// barrier that not all reach, fails a check.
//
// Tests arithmetic, indices and barriers: fibers run one after the other, and
// so do blocks, sometimes forwards and sometimes backwards, so that a fiber
// that relies on the order gets other results. Does not find races within a
// warp between its shuffles. Shared arrays are static.
//
// For CUDA sources compiled as C++, with SPILLWAY_CUDA_EMULATION defined as the
// path of this header.
#ifndef SPILLWAY_TESTS_SUPPORT_CUDA_EMULATION_H_
#define SPILLWAY_TESTS_SUPPORT_CUDA_EMULATION_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "tests/support/emulated_device.h"
#include "tests/support/emulated_queue.h"

struct dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};

namespace spillway::cuda_emulation {

// The position of the running fiber.
struct Place {
  dim3 thread;
  dim3 block;
  dim3 block_size;
  dim3 grid_size;
};
const Place& Here();

// Runs `thread` for every thread of every block: at once without a stream, else
// in stream order.
void Launch(void* stream, dim3 blocks, dim3 threads,
            std::function<void()> thread);

void SyncThreads();
// Every thread of a warp gives 8 bytes and receives those of thread `lane`.
uint64_t Exchange(uint64_t bits, unsigned lane);
unsigned LaneOfThread();

template <typename T>
T Shuffle(T value, unsigned lane) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = Exchange(bits, lane);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace spillway::cuda_emulation

// CUDA's names.
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define threadIdx (::spillway::cuda_emulation::Here().thread)
#define blockIdx (::spillway::cuda_emulation::Here().block)
#define blockDim (::spillway::cuda_emulation::Here().block_size)
#define gridDim (::spillway::cuda_emulation::Here().grid_size)

inline void __syncthreads() { spillway::cuda_emulation::SyncThreads(); }
inline void __syncwarp() { spillway::cuda_emulation::Exchange(0, 0); }

template <typename T>
T __shfl_xor_sync(unsigned /*mask*/, T value, unsigned lane_mask) {
  return spillway::cuda_emulation::Shuffle(
      value, spillway::cuda_emulation::LaneOfThread() ^ lane_mask);
}

#endif  // SPILLWAY_TESTS_SUPPORT_CUDA_EMULATION_H_
