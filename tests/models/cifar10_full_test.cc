// The normalisation within channels of Caffe's network, against its definition.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::EvalGraph;
using testing::EvalState;
using testing::MakeHostTensor;

// Caffe: x (1 + alpha / 9 * sum over 3 x 3 pixels of x^2)^-0.75, alpha 5e-5.
// x: [1, size, size, channels].
std::vector<double> Naive(const float* x, int64_t size, int64_t channels) {
  const auto at = [&](int64_t row, int64_t column, int64_t c) {
    const bool inside = row >= 0 && row < size && column >= 0 && column < size;
    return inside ? double{x[(row * size + column) * channels + c]} : 0.0;
  };
  std::vector<double> y;
  for (int64_t i = 0; i < size * size * channels; ++i) {
    const int64_t c = i % channels;
    const int64_t column = i / channels % size;
    const int64_t row = i / channels / size;
    double sum = 0;
    for (int64_t window = 0; window < 9; ++window) {
      const double other = at(row + window / 3 - 1, column + window % 3 - 1, c);
      sum += other * other;
    }
    y.push_back(at(row, column, c) * std::pow(1 + 5e-5 / 9 * sum, -0.75));
  }
  return y;
}

TEST(Cifar10FullTest, NormalisesWithinChannels) {
  GraphBuilder g(StandardOps());
  ASSERT_OK_AND_ASSIGN(
      const ModelGraph model,
      BuildModel(g, "cifar10_full", {.batch_size = 1, .image_size = 11}));
  const TensorType type = model.images.type();
  std::vector<float> images;  // large, so that the normalisation matters
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    images.push_back(
        static_cast<float>(200 * NormalAt(9, static_cast<uint64_t>(i))));
  }
  const Graph& built = g.graph();
  const NodeId norm = built.FindNode("norm1/Mul_2").value();
  const ValueId fetches[] = {built.output(built.FindNode("pool1/Relu").value()),
                             built.output(norm)};
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  EvalState state;
  ASSERT_OK_AND_ASSIGN(
      const auto values,
      EvalGraph(graph, {{model.images.id(), MakeHostTensor(type, images)}},
                fetches, state));

  const HostTensor& y = values.at(fetches[1]);
  ASSERT_EQ(y.type.shape, (Shape{1, 5, 5, 32}));
  const auto expected = Naive(values.at(fetches[0]).data<float>(), 5, 32);
  double most_changed = 1;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(y.data<float>()[i], expected[i], 1e-5 * expected[i] + 1e-6);
    const double x = double{values.at(fetches[0]).data<float>()[i]};
    if (x > 0) most_changed = std::min(most_changed, expected[i] / x);
  }
  EXPECT_LT(most_changed, 0.9);  // far from a no-op
}

}  // namespace
}  // namespace spillway
