#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/random.h"
#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"
#include "ops/pointwise/dropout.h"

namespace spillway::ops {
namespace {

// Blocks of the generator that are made at once, and their number of words.
constexpr int64_t kBlocks = 64;
constexpr int64_t kWords = 4 * kBlocks;

struct DropoutMask {
  uint64_t key = 0;
  int32_t threshold = 0;  // in units of UniformFloat, 2^-24
  float scale = 1;
};

void DrawWords(uint64_t key, uint64_t first_block, uint32_t* words) {
  for (int64_t block = 0; block < kBlocks; ++block) {
    const std::array<uint32_t, 4> drawn =
        Philox4x32(key, first_block + static_cast<uint64_t>(block));
    std::ranges::copy(drawn, words + 4 * block);
  }
}

// Computes y[begin, end) from x; begin is a multiple of kWords. The second loop
// has no branch, since half of them would be mispredicted.
template <typename T>
void DropPart(const DropoutMask& mask, const T* x, int64_t begin, int64_t end,
              T* y) {
  for (int64_t at = begin; at < end; at += kWords) {
    uint32_t words[kWords];
    DrawWords(mask.key, static_cast<uint64_t>(at) / 4, words);
    const int64_t n = std::min(kWords, end - at);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float scaled = Load(x[at + i]) * mask.scale;
      const bool kept = static_cast<int32_t>(words[i] >> 8) >= mask.threshold;
      y[at + i] = Store<T>(kept ? scaled : 0.0F);
    }
  }
}

template <typename T>
NewKernel DropoutOf(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const DropoutAttributes options,
                            ReadDropout(node.attributes));
  const int64_t n = node.outputs[0].num_elements();
  const DropoutMask unkeyed = {
      .threshold = static_cast<int32_t>(std::ceil(options.rate * 0x1.0p24)),
      .scale = static_cast<float>(1 / (1 - options.rate))};
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    DropoutMask mask = unkeyed;
    mask.key =
        MixKeys(MixKeys(context.seed, static_cast<uint64_t>(options.seed)),
                static_cast<uint64_t>(*context.step));
    const T* x = context.input<T>(0);
    T* y = context.output<T>(0);
    const int64_t parts = (n + kWords - 1) / kWords;
    ParallelFor(threads, parts, 16, [=](int64_t begin, int64_t end) {
      DropPart(mask, x, begin * kWords, std::min(end * kWords, n), y);
    });
  });
}

}  // namespace

NewKernel DropoutCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return DropoutOf<T>(node); });
}

}  // namespace spillway::ops
