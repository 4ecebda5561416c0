// Where operands that are repeated (repeated_dims.h) have what an element of
// the result needs, for CUDA sources.
#ifndef SPILLWAY_OPS_GPU_THREAD_REPEATED_PLACES_CUH_
#define SPILLWAY_OPS_GPU_THREAD_REPEATED_PLACES_CUH_

#include <cstdint>

#include "ops/gpu/kernel/repeated_dims.h"
#include "ops/gpu/thread/divide.cuh"

namespace spillway::gpu {

template <int kOperands>
struct RepeatedPlaces {
  int64_t of[kOperands] = {};
};

// For element i of the result.
template <int kOperands>
__device__ RepeatedPlaces<kOperands> PlacesOf(const RepeatedDims& repeated,
                                              int64_t i) {
  RepeatedPlaces<kOperands> places;
  for (int axis = repeated.rank - 1; axis > 0; --axis) {
    const RepeatedDim& dim = repeated.dims[axis];
    const int64_t outer = Divide(i, dim.size);
    const int64_t place = i - outer * dim.size;
    for (int k = 0; k < kOperands; ++k) {
      places.of[k] += place * dim.steps[k];
    }
    i = outer;
  }
  for (int k = 0; k < kOperands; ++k) {
    places.of[k] += i * repeated.dims[0].steps[k];
  }
  return places;
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_REPEATED_PLACES_CUH_
