// Vectors of floats for loops over channels, as wide as the machine has them: a
// loop is a template over `kBytes`, inlined into one function a width, and the
// kernel picks a function when it is made. (Loops that the compiler vectorises
// by itself need none of this.)
//
// Floats are passed by reference only: by value, the registers that carry them
// would depend on the width that the caller is compiled for.
#ifndef SPILLWAY_OPS_CPU_LANES_H_
#define SPILLWAY_OPS_CPU_LANES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spillway {

template <int kBytes>
struct Lanes {
  // (As typedefs: GCC 12 drops the attribute of a `using` that depends on
  // kBytes.)
  typedef float Floats __attribute__((vector_size(kBytes)));
  // Comparing Floats gives Ints: -1 where true, else 0.
  typedef int32_t Ints __attribute__((vector_size(kBytes)));

  static constexpr int64_t kCount = kBytes / sizeof(float);

  // Reads the first `lanes` lanes of `to`.
  [[gnu::always_inline]] static void Load(const float* from, int64_t lanes,
                                          Floats& to) {
    if (lanes == kCount) {
      std::memcpy(&to, from, kBytes);
    } else {
      std::memcpy(&to, from, static_cast<size_t>(lanes) * sizeof(float));
    }
  }

  [[gnu::always_inline]] static void Store(const Floats& from, int64_t lanes,
                                           float* to) {
    if (lanes == kCount) {
      std::memcpy(to, &from, kBytes);
    } else {
      std::memcpy(to, &from, static_cast<size_t>(lanes) * sizeof(float));
    }
  }
};

// Whether functions with [[gnu::target("avx2")]] may be called here.
inline bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }

// Whether functions with [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
// may be called here; oneDNN asks for the same before it takes bfloat16.
inline bool HasAvx512() {
  return __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_LANES_H_
