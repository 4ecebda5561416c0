#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"
#include "ops/loss/softmax_cross_entropy.h"

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

// Returns the loss. `backprop` may be `logits`; `exponentials` has space for a
// row.
template <typename T>
float CrossEntropyRow(const T* logits, int32_t label,
                      std::span<float> exponentials, T* backprop) {
  const size_t classes = exponentials.size();
  float most = Load(logits[0]);
  for (size_t c = 1; c < classes; ++c) most = std::max(most, Load(logits[c]));
  const float of_label = Load(logits[label]) - most;
  double sum = 0;
  for (size_t c = 0; c < classes; ++c) {
    exponentials[c] = std::exp(Load(logits[c]) - most);
    sum += exponentials[c];
  }
  const auto scale = static_cast<float>(1 / sum);
  for (float& item : exponentials) item *= scale;
  exponentials[static_cast<size_t>(label)] -= 1;
  for (size_t c = 0; c < classes; ++c) backprop[c] = Store<T>(exponentials[c]);
  return static_cast<float>(std::log(sum) - of_label);
}

// One run.
template <typename T>
struct Batch {
  const T* logits = nullptr;
  const int32_t* labels = nullptr;
  float* loss = nullptr;
  T* backprop = nullptr;
};

template <typename T>
void CrossEntropyRows(const Batch<T>& batch, int64_t begin, int64_t end,
                      int64_t classes) {
  std::vector<float> exponentials(static_cast<size_t>(classes));
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * classes;
    batch.loss[row] = CrossEntropyRow(batch.logits + at, batch.labels[row],
                                      exponentials, batch.backprop + at);
  }
}

template <typename T>
NewKernel CrossEntropyOf(const KernelRequest& node) {
  const int64_t rows = node.inputs[0].shape.dim(0);
  const int64_t classes = node.inputs[0].shape.dim(1);
  return MakeKernel([=, threads = node.threads](
                        const KernelContext& context) -> absl::Status {
    const Batch<T> batch = {.logits = context.input<T>(0),
                            .labels = context.input<int32_t>(1),
                            .loss = context.output<float>(0),
                            .backprop = context.output<T>(1)};
    SPILLWAY_RETURN_IF_ERROR(CheckLabels(batch.labels, rows, classes));
    ParallelFor(threads, rows, kElementwiseGrain / (8 * classes) + 1,
                [=](int64_t begin, int64_t end) {
                  CrossEntropyRows(batch, begin, end, classes);
                });
    return absl::OkStatus();
  });
}

}  // namespace

NewKernel SparseSoftmaxCrossEntropyWithLogitsCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return CrossEntropyOf<T>(node); });
}

}  // namespace spillway::ops
