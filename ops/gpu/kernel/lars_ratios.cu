#include "ops/gpu/kernel/lars_ratios.h"
#include "ops/gpu/thread/reduce.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

using FloatVector = Vector<float>;

// Elements that are worth a block, and the most blocks of a tensor: more than a
// GPU runs at once.
constexpr int64_t kPartElements = int64_t{kThreads} * FloatVector::kSize * 4;
constexpr int64_t kMostParts = 1024;

constexpr int kLoadsAtOnce = 4;  // of two vectors each

// The sums of the squares of a part, or of a tensor.
struct SquareSums {
  double variable;
  double gradient;
};

struct NormTable {
  int64_t n[kMostUpdateTensors] = {};
  const float* variable[kMostUpdateTensors] = {};
  const float* gradient[kMostUpdateTensors] = {};
};

__host__ __device__ int64_t PartsOf(int64_t n) {
  const int64_t parts = n / kPartElements;
  return parts < 1 ? 1 : parts < kMostParts ? parts : kMostParts;
}

__device__ void AddSquares(double (&sums)[2], float variable, float gradient) {
  sums[0] += static_cast<double>(variable) * variable;
  sums[1] += static_cast<double>(gradient) * gradient;
}

struct TwoVectors {
  FloatVector variable;
  FloatVector gradient;
};

// Block (part, tensor): sums[tensor * stride + part].
__global__ void SumSquaresOfParts(NormTable table, int64_t stride,
                                  SquareSums* sums) {
  const unsigned t = blockIdx.y;
  const int64_t n = table.n[t];
  const int64_t parts = PartsOf(n);
  const int64_t part = blockIdx.x;
  if (part >= parts) return;
  const float* variable = table.variable[t];
  const float* gradient = table.gradient[t];
  const int64_t vectors = n / FloatVector::kSize;
  const int64_t first = part * kThreads + threadIdx.x;
  double mine[2] = {};
  ForEachLoaded<kLoadsAtOnce>(
      first, vectors, parts * kThreads,
      [&](int64_t v) {
        return TwoVectors{reinterpret_cast<const FloatVector*>(variable)[v],
                          reinterpret_cast<const FloatVector*>(gradient)[v]};
      },
      [&](int64_t /*v*/, const TwoVectors& loaded) {
        for (int i = 0; i < FloatVector::kSize; ++i) {
          AddSquares(mine, loaded.variable.items[i], loaded.gradient.items[i]);
        }
      });
  // The elements after the last whole vector.
  const int64_t rest = vectors * FloatVector::kSize + first;
  if (rest < n) AddSquares(mine, variable[rest], gradient[rest]);
  BlockReduce(mine, 1, Plus());
  if (threadIdx.x == 0) sums[t * stride + part] = {mine[0], mine[1]};
}

__device__ double Ratio(const LarsRule& rule, const SquareSums& sums) {
  const GradientRule& gradient_rule = rule.velocity.gradient;
  const double scale = gradient_rule.scale;
  const double decay = gradient_rule.weight_decay;
  const double gradient = scale * scale * sums.gradient;
  if (rule.is_lbsgd) {
    const double ratio = sqrt(
        sums.variable / (gradient + decay * sums.variable + kLbsgdEpsilon));
    if (ratio < kLeastLbsgdRatio) return kLeastLbsgdRatio;
    return ratio > kMostLbsgdRatio ? kMostLbsgdRatio : ratio;
  }
  if (sums.variable == 0 || gradient == 0) return 1;
  const double norm = sqrt(sums.variable);
  return rule.eta * norm / (sqrt(gradient) + decay * norm + rule.epsilon);
}

// Block: the tensor.
__global__ void RatiosOfSums(LarsRule rule, NormTable table, int64_t stride,
                             const SquareSums* sums, double* ratios) {
  const unsigned t = blockIdx.x;
  const int64_t parts = PartsOf(table.n[t]);
  double all[2] = {};
  for (int64_t part = threadIdx.x; part < parts; part += kThreads) {
    all[0] += sums[t * stride + part].variable;
    all[1] += sums[t * stride + part].gradient;
  }
  BlockReduce(all, 1, Plus());
  if (threadIdx.x == 0) ratios[t] = Ratio(rule, {all[0], all[1]});
}

}  // namespace

int64_t LarsWorkspaceBytes(int count, int64_t most_elements) {
  const int64_t each =
      static_cast<int64_t>(sizeof(SquareSums)) * PartsOf(most_elements) +
      static_cast<int64_t>(sizeof(double));
  return count * each;
}

LaunchError LarsRatios(StreamHandle stream, const LarsRule& rule,
                       const UpdateTensors& tensors, const double** ratios) {
  NormTable table;
  int64_t most_parts = 0;
  for (int i = 0; i < tensors.count; ++i) {
    const UpdateTensor& tensor = tensors.tensors[i];
    table.n[i] = tensor.n;
    table.variable[i] = tensor.variable;
    table.gradient[i] = tensor.gradient;
    const int64_t parts = PartsOf(tensor.n);
    if (parts > most_parts) most_parts = parts;
  }
  auto* sums = static_cast<SquareSums*>(tensors.workspace);
  auto* result = reinterpret_cast<double*>(sums + tensors.count * most_parts);
  *ratios = result;
  const auto count = static_cast<unsigned>(tensors.count);
  const LaunchError error = Launch(
      stream, SumSquaresOfParts, dim3(static_cast<unsigned>(most_parts), count),
      dim3(kThreads), table, most_parts, sums);
  if (error != 0) return error;
  return Launch(stream, RatiosOfSums, dim3(count), dim3(kThreads), rule, table,
                most_parts, static_cast<const SquareSums*>(sums), result);
}

}  // namespace spillway::gpu
