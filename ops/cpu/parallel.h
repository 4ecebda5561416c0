// ParallelFor: splits [0, n) among threads.
//
// fn(begin, end) is called once for each of at most `threads` contiguous parts,
// none smaller than about `grain` items, and ParallelFor returns when all are
// done. The split depends on `threads`, so a kernel whose bits must not (all of
// ours) either computes its items independently or lets one item be a chunk of
// fixed size (ops/cpu/reduce.h).
#ifndef SPILLWAY_OPS_CPU_PARALLEL_H_
#define SPILLWAY_OPS_CPU_PARALLEL_H_

#include <algorithm>
#include <cstdint>

namespace spillway {

template <typename Fn>
void ParallelFor(int threads, int64_t n, int64_t grain, const Fn& fn) {
  const int64_t parts = std::min<int64_t>(threads, (n + grain - 1) / grain);
  if (parts <= 1) {
    if (n > 0) fn(int64_t{0}, n);
    return;
  }
#pragma omp parallel for num_threads(parts) schedule(static)
  for (int64_t part = 0; part < parts; ++part) {
    fn(n * part / parts, n * (part + 1) / parts);
  }
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_PARALLEL_H_
