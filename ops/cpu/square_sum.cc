#include "ops/cpu/square_sum.h"

#include <algorithm>

#include "ops/cpu/parallel.h"

namespace spillway {
namespace {

constexpr int64_t kMostSquareChunks = 64;  // enough for any machine's threads
constexpr int64_t kLeastSquareChunk = 16384;  // elements worth a thread
constexpr int kSquareLanes = 16;

double SumSquaresOf(const float* x, int64_t n) {
  double lanes[kSquareLanes] = {};
  const int64_t whole = n / kSquareLanes * kSquareLanes;
  for (int64_t i = 0; i < whole; i += kSquareLanes) {
    for (int lane = 0; lane < kSquareLanes; ++lane) {
      const double item = x[i + lane];
      lanes[lane] += item * item;
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (int64_t i = whole; i < n; ++i) {
    const double item = x[i];
    sum += item * item;
  }
  return sum;
}

}  // namespace

double SquareSum(int threads, const float* x, int64_t n) {
  const int64_t chunks =
      std::clamp<int64_t>(n / kLeastSquareChunk, 1, kMostSquareChunks);
  double sums[kMostSquareChunks] = {};
  ParallelFor(threads, chunks, 1, [&](int64_t first, int64_t last) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      const int64_t begin = n * chunk / chunks;
      const int64_t end = n * (chunk + 1) / chunks;
      sums[chunk] = SumSquaresOf(x + begin, end - begin);
    }
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace spillway
