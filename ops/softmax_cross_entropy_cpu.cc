#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/cpu/elementwise.h"
#include "ops/softmax_cross_entropy.h"

namespace spillway::ops {
namespace {

absl::Status CheckLabels(const int32_t* labels, int64_t rows, int64_t classes) {
  for (int64_t row = 0; row < rows; ++row) {
    if (labels[row] >= 0 && labels[row] < classes) continue;
    return InvalidArgument(
        fmt::format("row {} has the label {}; the logits have {} classes", row,
                    labels[row], classes));
  }
  return absl::OkStatus();
}

// Returns the loss. `backprop` may be `logits`.
float CrossEntropyRow(const float* logits, int32_t label, int64_t classes,
                      float* backprop) {
  const float most = *std::max_element(logits, logits + classes);
  const float of_label = logits[label] - most;
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) {
    backprop[c] = std::exp(logits[c] - most);
    sum += backprop[c];
  }
  const auto scale = static_cast<float>(1 / sum);
  for (int64_t c = 0; c < classes; ++c) backprop[c] *= scale;
  backprop[label] -= 1;
  return static_cast<float>(std::log(sum) - of_label);
}

}  // namespace

NewKernel SparseSoftmaxCrossEntropyWithLogitsCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t rows = node.inputs[0].shape.dim(0);
  const int64_t classes = node.inputs[0].shape.dim(1);
  return MakeKernel([=, threads = node.threads](
                        const KernelContext& context) -> absl::Status {
    const float* logits = context.input<float>(0);
    const int32_t* labels = context.input<int32_t>(1);
    float* loss = context.output<float>(0);
    float* backprop = context.output<float>(1);
    RETURN_IF_ERROR(CheckLabels(labels, rows, classes));
    ParallelFor(threads, rows, kElementwiseGrain / (8 * classes) + 1,
                [=](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const int64_t at = row * classes;
                    loss[row] = CrossEntropyRow(logits + at, labels[row],
                                                classes, backprop + at);
                  }
                });
    return absl::OkStatus();
  });
}

}  // namespace spillway::ops
