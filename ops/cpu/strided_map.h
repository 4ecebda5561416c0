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

// One row of the result. A step of an operand is 0 or 1, known to the
// compiler, so that each of the loops is vectorised.
template <int kStepA, int kStepB, typename A, typename B, typename T,
          typename Fn>
void MapRow(const A* a, const B* b, T* y, int64_t n, const Fn& fn) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = Store<T>(fn(Load(a[i * kStepA]), Load(b[i * kStepB])));
  }
}

// For a, b and y stored as T.
template <typename T, typename Fn>
NewKernel StridedBinaryOf(const KernelRequest& node, Fn fn) {
  const std::array<Shape, 2> shapes = {node.inputs[0].shape,
                                       node.inputs[1].shape};
  const std::vector<BroadcastDim> dims = MergedDims(shapes);
  const int64_t width = dims.back().size;
  const int64_t rows = node.outputs[0].num_elements() / width;
  const int64_t grain = kElementwiseGrain / width + 1;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* a = context.input<T>(0);
    const T* b = context.input<T>(1);
    T* y = context.output<T>(0);
    const bool a_moves = dims.back().steps[0] != 0;
    const bool b_moves = dims.back().steps[1] != 0;
    ParallelFor(threads, rows, grain, [&](int64_t begin, int64_t end) {
      RowWalk walk(dims, begin);
      for (int64_t row = begin; row < end; ++row, walk.Next()) {
        const T* a_row = a + walk.at(0);
        const T* b_row = b + walk.at(1);
        T* y_row = y + row * width;
        if (a_moves && b_moves) MapRow<1, 1>(a_row, b_row, y_row, width, fn);
        if (a_moves && !b_moves) MapRow<1, 0>(a_row, b_row, y_row, width, fn);
        if (!a_moves && b_moves) MapRow<0, 1>(a_row, b_row, y_row, width, fn);
        if (!a_moves && !b_moves) MapRow<0, 0>(a_row, b_row, y_row, width, fn);
      }
    });
  });
}

template <typename Fn>
NewKernel StridedBinaryKernel(const KernelRequest& node, Fn fn) {
  return ForStorage(node.inputs[0], [&]<typename T>(T) {
    return StridedBinaryOf<T>(node, fn);
  });
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_STRIDED_MAP_H_
