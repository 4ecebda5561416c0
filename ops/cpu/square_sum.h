// The sum of the squares of a float32 tensor in parallel, bitwise identical for
// any number of threads.
//
// The tensor is split into at most 64 chunks, whose number depends on n only;
// each chunk is summed by one thread, and chunks are added in order. In double,
// so no square overflows or vanishes.
#ifndef SPILLWAY_OPS_CPU_SQUARE_SUM_H_
#define SPILLWAY_OPS_CPU_SQUARE_SUM_H_

#include <cstdint>

namespace spillway {

double SquareSum(int threads, const float* x, int64_t n);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_SQUARE_SUM_H_
