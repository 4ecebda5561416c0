// ParallelFor: splits [0, n) among threads, and runs each part with the widest
// vectors that the machine has.
//
// fn(begin, end) is called once for each of at most `threads` contiguous parts,
// none smaller than about `grain` items, and ParallelFor returns when all are
// done. The split depends on `threads`. So a kernel whose result must not
// depend on it (all of ours) either computes its items independently or makes
// one item a chunk of fixed size (ops/cpu/reduce.h).
//
// fn is compiled once for each width; all functions that it calls in the
// including file are inlined. Results do not depend on the width: products and
// sums are not contracted (-ffp-contract=off, ops/CMakeLists.txt), and the
// compiler may not reorder a sum.
#ifndef SPILLWAY_OPS_CPU_PARALLEL_H_
#define SPILLWAY_OPS_CPU_PARALLEL_H_

#include <algorithm>
#include <cstdint>

#include "ops/cpu/lanes.h"

namespace spillway {

template <typename Fn>
[[gnu::target("avx2"), gnu::flatten]] void RunWithAvx2(const Fn& fn,
                                                       int64_t begin,
                                                       int64_t end) {
  fn(begin, end);
}

template <typename Fn>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), gnu::flatten]] void
RunWithAvx512(const Fn& fn, int64_t begin, int64_t end) {
  fn(begin, end);
}

// Calls fn(begin, end) in the widest version that this CPU supports.
template <typename Fn>
void RunWidest(const Fn& fn, int64_t begin, int64_t end) {
  if (HasAvx512()) {
    RunWithAvx512(fn, begin, end);
  } else if (HasAvx2()) {
    RunWithAvx2(fn, begin, end);
  } else {
    fn(begin, end);
  }
}

template <typename Fn>
void ParallelFor(int threads, int64_t n, int64_t grain, const Fn& fn) {
  const int64_t parts = std::min<int64_t>(threads, (n + grain - 1) / grain);
  if (parts <= 1) {
    if (n > 0) RunWidest(fn, 0, n);
    return;
  }
#pragma omp parallel for num_threads(parts) schedule(static)
  for (int64_t part = 0; part < parts; ++part) {
    RunWidest(fn, n * part / parts, n * (part + 1) / parts);
  }
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_PARALLEL_H_
