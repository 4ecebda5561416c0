// Counter-based random numbers: number `counter` of stream `key` is a pure
// function, so any thread on any device can compute any number, nothing is
// stored, and the backward pass regenerates a dropout mask.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011: Philox4x32 with 10 rounds.
#ifndef SPILLWAY_BASE_RANDOM_H_
#define SPILLWAY_BASE_RANDOM_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace spillway {

// Four independent 32-bit numbers: block `counter` of the stream `key`.
constexpr std::array<uint32_t, 4> Philox4x32(uint64_t key, uint64_t counter) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(counter);
  uint32_t c1 = static_cast<uint32_t>(counter >> 32);
  uint32_t c2 = 0;
  uint32_t c3 = 0;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

// [0, 1): 24 random bits, exact in float.
constexpr float UniformFloat(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1.0p-24f;
}

// A well-mixed 64-bit key from two others (SplitMix64 finaliser).
constexpr uint64_t MixKeys(uint64_t a, uint64_t b) {
  uint64_t x = a + 0x9E3779B97F4A7C15u * (b + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// FNV-1a: a stable hash of a name, for keys that must not depend on node ids.
constexpr uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return hash;
}

// Standard normal number `index` of the stream `key` (Box-Muller).
double NormalAt(uint64_t key, uint64_t index);

// The same, redrawn while the magnitude exceeds 2 (TensorFlow's truncation).
double TruncatedNormalAt(uint64_t key, uint64_t index);

}  // namespace spillway

#endif  // SPILLWAY_BASE_RANDOM_H_
