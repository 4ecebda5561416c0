// Vectors of floats (in memory float32 or bfloat16) for loops over channels, as
// wide as the machine's: a loop is a template over `kBytes`, inlined into one
// function per width, and the kernel picks a function when it is made. (Loops
// that the compiler vectorises do not need this.)
//
// Pass floats by reference only: by value, the registers that hold them would
// depend on the width for which the caller is compiled.
#ifndef SPILLWAY_OPS_CPU_LANES_H_
#define SPILLWAY_OPS_CPU_LANES_H_

#include <cpuid.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bfloat16.h"

namespace spillway {

// As many 16-bit and 8-bit integers as kBytes hold 32-bit ones, and the
// conversion between them. (One struct per width: GCC 12 cannot convert vectors
// whose type depends on a template parameter.)
template <int kBytes>
struct ShortLanes;

template <>
struct ShortLanes<16> {
  typedef uint8_t Bytes __attribute__((vector_size(4)));
  typedef uint16_t Halves __attribute__((vector_size(8)));
  typedef uint32_t Words __attribute__((vector_size(16)));

  [[gnu::always_inline]] static void Widen(const Halves& from, Words& to) {
    to = __builtin_convertvector(from, Words);
  }
  [[gnu::always_inline]] static void Narrow(const Words& from, Halves& to) {
    to = __builtin_convertvector(from, Halves);
  }
  [[gnu::always_inline]] static void Widen(const Bytes& from, Words& to) {
    to = __builtin_convertvector(from, Words);
  }
  [[gnu::always_inline]] static void Narrow(const Words& from, Bytes& to) {
    to = __builtin_convertvector(from, Bytes);
  }
};

template <>
struct ShortLanes<32> {
  typedef uint8_t Bytes __attribute__((vector_size(8)));
  typedef uint16_t Halves __attribute__((vector_size(16)));
  typedef uint32_t Words __attribute__((vector_size(32)));

  [[gnu::always_inline]] static void Widen(const Halves& from, Words& to) {
    to = __builtin_convertvector(from, Words);
  }
  [[gnu::always_inline]] static void Narrow(const Words& from, Halves& to) {
    to = __builtin_convertvector(from, Halves);
  }
  [[gnu::always_inline]] static void Widen(const Bytes& from, Words& to) {
    to = __builtin_convertvector(from, Words);
  }
  [[gnu::always_inline]] static void Narrow(const Words& from, Bytes& to) {
    to = __builtin_convertvector(from, Bytes);
  }
};

template <>
struct ShortLanes<64> {
  typedef uint8_t Bytes __attribute__((vector_size(16)));
  typedef uint16_t Halves __attribute__((vector_size(32)));
  typedef uint32_t Words __attribute__((vector_size(64)));

  [[gnu::always_inline]] static void Widen(const Halves& from, Words& to) {
    to = __builtin_convertvector(from, Words);
  }
  [[gnu::always_inline]] static void Narrow(const Words& from, Halves& to) {
    to = __builtin_convertvector(from, Halves);
  }
  [[gnu::always_inline]] static void Widen(const Bytes& from, Words& to) {
    to = __builtin_convertvector(from, Words);
  }
  [[gnu::always_inline]] static void Narrow(const Words& from, Bytes& to) {
    to = __builtin_convertvector(from, Bytes);
  }
};

template <int kBytes>
struct Lanes {
  // (As typedefs: GCC 12 drops the attribute of a `using` that depends on
  // kBytes.)
  typedef float Floats __attribute__((vector_size(kBytes)));
  // Comparing Floats gives Ints: -1 where true, else 0.
  typedef int32_t Ints __attribute__((vector_size(kBytes)));

  static constexpr int64_t kCount = kBytes / sizeof(float);

  // Loads the first `lanes` lanes of `to`.
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

  // Lanes beyond `lanes` become zeros.
  [[gnu::always_inline]] static void Load(const BFloat16* from, int64_t lanes,
                                          Floats& to) {
    typename ShortLanes<kBytes>::Halves halves = {};
    if (lanes == kCount) {
      std::memcpy(&halves, from, sizeof(halves));
    } else {
      std::memcpy(&halves, from, static_cast<size_t>(lanes) * sizeof(BFloat16));
    }
    typename ShortLanes<kBytes>::Words bits = {};
    ShortLanes<kBytes>::Widen(halves, bits);
    bits <<= 16;
    std::memcpy(&to, &bits, kBytes);
  }

  // Rounds as ToBFloat16 (base/bfloat16.h).
  [[gnu::always_inline]] static void Store(const Floats& from, int64_t lanes,
                                           BFloat16* to) {
    typename ShortLanes<kBytes>::Words bits = {};
    std::memcpy(&bits, &from, kBytes);
    const typename ShortLanes<kBytes>::Words rounded =
        bits + 0x7FFF + (bits >> 16 & 1);
    bits = from != from ? bits | 0x0040'0000 : rounded;
    bits >>= 16;
    typename ShortLanes<kBytes>::Halves halves = {};
    ShortLanes<kBytes>::Narrow(bits, halves);
    void* bytes = to;
    if (lanes == kCount) {
      std::memcpy(bytes, &halves, sizeof(halves));
    } else {
      std::memcpy(bytes, &halves,
                  static_cast<size_t>(lanes) * sizeof(BFloat16));
    }
  }

  // Integers of 0 to 255; lanes beyond `lanes` become zeros.
  [[gnu::always_inline]] static void Load(const uint8_t* from, int64_t lanes,
                                          Ints& to) {
    typename ShortLanes<kBytes>::Bytes bytes = {};
    if (lanes == kCount) {
      std::memcpy(&bytes, from, sizeof(bytes));
    } else {
      std::memcpy(&bytes, from, static_cast<size_t>(lanes));
    }
    typename ShortLanes<kBytes>::Words words = {};
    ShortLanes<kBytes>::Widen(bytes, words);
    std::memcpy(&to, &words, kBytes);
  }
  [[gnu::always_inline]] static void Store(const Ints& from, int64_t lanes,
                                           uint8_t* to) {
    typename ShortLanes<kBytes>::Words words = {};
    std::memcpy(&words, &from, kBytes);
    typename ShortLanes<kBytes>::Bytes bytes = {};
    ShortLanes<kBytes>::Narrow(words, bytes);
    if (lanes == kCount) {
      std::memcpy(to, &bytes, sizeof(bytes));
    } else {
      std::memcpy(to, &bytes, static_cast<size_t>(lanes));
    }
  }
};

// Whether functions with [[gnu::target("avx2")]] may be called here.
inline bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }

// Whether functions with [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
// may be called here; oneDNN requires the same for bfloat16.
inline bool HasAvx512() {
  return __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

// One of three functions, compiled for vectors of 16, 32 and 64 bytes: the last
// one that may be called here.
template <typename Fn>
Fn* Widest(Fn* baseline, Fn* avx2, Fn* avx512) {
  if (HasAvx512()) return avx512;
  return HasAvx2() ? avx2 : baseline;
}

// Whether the CPU has AMX for bfloat16. (Clang 14 does not know the feature's
// name.)
inline bool HasAmxBFloat16() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned kAmxBFloat16 = 1U << 22;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
         (edx & kAmxBFloat16) != 0;
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_LANES_H_
