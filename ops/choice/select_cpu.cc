#include <array>
#include <cstdint>
#include <vector>

#include "ops/choice/select.h"
#include "ops/cpu/strided_map.h"

namespace spillway::ops {
namespace {

// A row in which `condition`, a and b are repeated (step 0) or not (step 1).
template <typename T>
struct SelectedRow {
  const bool* condition = nullptr;
  const T* a = nullptr;
  const T* b = nullptr;
  T* y = nullptr;
  int64_t n = 0;
};

template <int kStepC, int kStepA, int kStepB, typename T>
void SelectRow(const SelectedRow<T>& row) {
#pragma omp simd
  for (int64_t i = 0; i < row.n; ++i) {
    // Both are read, so that the choice needs no branch.
    const T a = row.a[i * kStepA];
    const T b = row.b[i * kStepB];
    row.y[i] = row.condition[i * kStepC] ? a : b;
  }
}

template <int kStepC, typename T>
void SelectRowOf(int64_t a_step, int64_t b_step, const SelectedRow<T>& row) {
  if (a_step != 0 && b_step != 0) SelectRow<kStepC, 1, 1>(row);
  if (a_step != 0 && b_step == 0) SelectRow<kStepC, 1, 0>(row);
  if (a_step == 0 && b_step != 0) SelectRow<kStepC, 0, 1>(row);
  if (a_step == 0 && b_step == 0) SelectRow<kStepC, 0, 0>(row);
}

// Elements are moved as they are: T has their size.
template <typename T>
NewKernel Selected(const KernelRequest& node) {
  const std::array<Shape, 3> shapes = {
      node.inputs[0].shape, node.inputs[1].shape, node.inputs[2].shape};
  const std::vector<BroadcastDim> dims = MergedDims(shapes);
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const bool* condition = context.input<bool>(0);
    const T* a = context.input<T>(1);
    const T* b = context.input<T>(2);
    T* y = context.output<T>(0);
    const std::array<int64_t, 3>& steps = dims.back().steps;
    const auto select = [&](const RowWalk& walk, int64_t begin, int64_t width) {
      const SelectedRow<T> row = {.condition = condition + walk.at(0),
                                  .a = a + walk.at(1),
                                  .b = b + walk.at(2),
                                  .y = y + begin,
                                  .n = width};
      if (steps[0] != 0) {
        SelectRowOf<1>(steps[1], steps[2], row);
      } else {
        SelectRowOf<0>(steps[1], steps[2], row);
      }
    };
    ForEachRow(threads, dims, n, select);
  });
}

}  // namespace

NewKernel SelectCpu(const KernelRequest& node) {
  switch (SizeOf(node.outputs[0].dtype)) {
    case 1:
      return Selected<uint8_t>(node);
    case 2:
      return Selected<uint16_t>(node);
    case 4:
      return Selected<uint32_t>(node);
    default:
      return Selected<uint64_t>(node);
  }
}

}  // namespace spillway::ops
