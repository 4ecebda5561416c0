// Kernels of y = fn(a, b) for operands that are repeated in any dimensions
// (ops/common/broadcast_dims.h). In-place safe for an operand of y's shape.
#ifndef SPILLWAY_OPS_CPU_STRIDED_MAP_H_
#define SPILLWAY_OPS_CPU_STRIDED_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/common/broadcast_dims.h"
#include "ops/cpu/elementwise.h"

namespace spillway {

// Places of the operands in a walk through all but the last dimension, row by
// row of the result.
class RowWalk {
 public:
  // Starts at row `row`.
  RowWalk(const std::vector<BroadcastDim>& dims, int64_t row)
      : dims_(dims), place_(dims.size() - 1, 0) {
    for (size_t i = place_.size(); i-- > 0;) {
      place_[i] = row % dims_[i].size;
      row /= dims_[i].size;
      for (size_t k = 0; k < at_.size(); ++k) {
        at_[k] += place_[i] * dims_[i].steps[k];
      }
    }
  }

  int64_t at(size_t operand) const { return at_[operand]; }

  void Next() {
    for (size_t i = place_.size(); i-- > 0;) {
      for (size_t k = 0; k < at_.size(); ++k) at_[k] += dims_[i].steps[k];
      if (++place_[i] < dims_[i].size) return;
      for (size_t k = 0; k < at_.size(); ++k) {
        at_[k] -= dims_[i].size * dims_[i].steps[k];
      }
      place_[i] = 0;
    }
  }

 private:
  const std::vector<BroadcastDim>& dims_;
  std::vector<int64_t> place_;
  std::array<int64_t, 3> at_ = {0, 0, 0};
};

// Calls row(walk, begin, width) for each row of a result of n elements, which
// starts at element `begin`; the walk has the operands' places.
template <typename Row>
void ForEachRow(int threads, const std::vector<BroadcastDim>& dims, int64_t n,
                const Row& row) {
  const int64_t width = dims.back().size;
  const int64_t grain = kElementwiseGrain / width + 1;
  ParallelFor(threads, n / width, grain, [&](int64_t begin, int64_t end) {
    RowWalk walk(dims, begin);
    for (int64_t i = begin; i < end; ++i, walk.Next()) {
      row(walk, i * width, width);
    }
  });
}

// One row of the result. A step of an operand is 0 or 1, known to the
// compiler, so that each of the loops is vectorised.
template <int kStepA, int kStepB, typename T, typename Y, typename Fn>
void MapRow(const T* a, const T* b, Y* y, int64_t n, const Fn& fn) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = fn(a[i * kStepA], b[i * kStepB]);
}

// For a and b stored as T and y as Y; fn takes and gives them as they are
// stored.
template <typename T, typename Y, typename Fn>
NewKernel StridedBinaryOf(const KernelRequest& node, Fn fn) {
  const std::array<Shape, 2> shapes = {node.inputs[0].shape,
                                       node.inputs[1].shape};
  const std::vector<BroadcastDim> dims = MergedDims(shapes);
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* all_a = context.input<T>(0);
    const T* all_b = context.input<T>(1);
    Y* all_y = context.output<Y>(0);
    const bool a_moves = dims.back().steps[0] != 0;
    const bool b_moves = dims.back().steps[1] != 0;
    const auto row = [&](const RowWalk& walk, int64_t begin, int64_t width) {
      const T* a = all_a + walk.at(0);
      const T* b = all_b + walk.at(1);
      Y* y = all_y + begin;
      if (a_moves && b_moves) MapRow<1, 1>(a, b, y, width, fn);
      if (a_moves && !b_moves) MapRow<1, 0>(a, b, y, width, fn);
      if (!a_moves && b_moves) MapRow<0, 1>(a, b, y, width, fn);
      if (!a_moves && !b_moves) MapRow<0, 0>(a, b, y, width, fn);
    };
    ForEachRow(threads, dims, n, row);
  });
}

template <typename Fn>
NewKernel StridedBinaryKernel(const KernelRequest& node, Fn fn) {
  return ForStorage(node.inputs[0], [&]<typename T>(T) {
    return StridedBinaryOf<T, T>(
        node, [fn](T a, T b) { return Store<T>(fn(Load(a), Load(b))); });
  });
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_STRIDED_MAP_H_
