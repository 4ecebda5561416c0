// loss = sum(w * c), whose gradient by w is exactly the fed c: for tests of
// updates with chosen gradients.
#ifndef SPILLWAY_TESTS_TRAINING_DOT_H_
#define SPILLWAY_TESTS_TRAINING_DOT_H_

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "graph/builder/builder.h"
#include "models/layers/layers.h"
#include "tests/support/host_tensor.h"

namespace spillway::testing {

inline constexpr int kSize = 6;

struct Dot {
  Tensor w;
  Tensor c;
  Tensor loss;
};

inline Dot AddDot(GraphBuilder& g, const Shape& shape) {
  const Tensor w =
      AddVariable(g, {.name = "w",
                      .shape = shape,
                      .initializer = Initializer::TruncatedNormal(1)});
  const Tensor c = g.Placeholder("c", DType::kFloat32, shape);
  const Tensor product =
      g.Add(g, {.op = "Mul", .inputs = {w, c}, .name = "product"});
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  const Tensor loss = g.Add(g, {.op = "Sum",
                                .inputs = {product},
                                .attributes = {{"axes", axes}},
                                .name = "loss"});
  return {.w = w, .c = c, .loss = loss};
}

inline std::vector<float> GradientAt(int step) {
  std::vector<float> gradient(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    gradient[i] = static_cast<float>(NormalAt(3, kSize * step + i));
  }
  return gradient;
}

inline std::vector<double> Values(const HostTensor& tensor) {
  const float* data = tensor.data<float>();
  return {data, data + tensor.type.num_elements()};
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TRAINING_DOT_H_
