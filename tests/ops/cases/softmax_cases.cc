// Softmax, SoftmaxGrad, SparseSoftmaxCrossEntropyWithLogits.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"

namespace spillway::testing {
namespace {

Doubles SoftmaxRows(const Doubles& x, size_t classes) {
  Doubles y(x.size());
  for (size_t row = 0; row < x.size(); row += classes) {
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) sum += std::exp(x[row + c]);
    for (size_t c = 0; c < classes; ++c) {
      y[row + c] = std::exp(x[row + c]) / sum;
    }
  }
  return y;
}

OpCase SoftmaxCase(const std::string& name, const Shape& x, double scale) {
  const auto classes = static_cast<size_t>(x.dim(-1));
  return {.name = name,
          .op = "Softmax",
          .inputs = {{.type = Float32(x), .high = scale}},
          .outputs = {Float32(x)},
          .reference =
              [classes](const DoublesList& in) {
                return DoublesList{SoftmaxRows(in[0], classes)};
              },
          .gradients = {0}};
}

OpCase SoftmaxGradCase() {
  return {.name = "SoftmaxGrad",
          .op = "SoftmaxGrad",
          .inputs = {{.type = Float32({6, 4})},
                     {.type = Float32({6, 4}), .fill = Fill::kUniform}},
          .outputs = {Float32({6, 4})},
          .reference = [](const DoublesList& in) {
            Doubles dx(24);
            for (size_t i = 0; i < 24; ++i) {
              double dot = 0;
              for (size_t c = 0; c < 4; ++c) {
                dot += in[0][i / 4 * 4 + c] * in[1][i / 4 * 4 + c];
              }
              dx[i] = (in[0][i] - dot) * in[1][i];
            }
            return DoublesList{dx};
          }};
}

OpCase CrossEntropy(const std::string& name, const Shape& logits,
                    double scale) {
  const auto classes = static_cast<size_t>(logits.dim(1));
  const Shape rows = {logits.dim(0)};
  const auto reference = [classes](const DoublesList& in) {
    Doubles loss;
    Doubles backprop = SoftmaxRows(in[0], classes);
    for (size_t row = 0; row < in[1].size(); ++row) {
      const size_t at = row * classes + static_cast<size_t>(in[1][row]);
      loss.push_back(-std::log(backprop[at]));
      backprop[at] -= 1;
    }
    return DoublesList{loss, backprop};
  };
  return {.name = name,
          .op = "SparseSoftmaxCrossEntropyWithLogits",
          .inputs = {{.type = Float32(logits), .high = scale},
                     {.type = Int32(rows),
                      .fill = Fill::kIntegers,
                      .high = static_cast<double>(classes)}},
          .outputs = {Float32(rows), Float32(logits)},
          .reference = reference,
          .gradients = {0}};
}

}  // namespace

OpCases SoftmaxCases() {
  return {
      .good =
          {
              SoftmaxCase("Softmax", {4, 10}, 1),
              SoftmaxCase("SoftmaxVector", {7}, 1),
              SoftmaxCase("SoftmaxOfLargeLogits", {3, 4, 5}, 30),
              SoftmaxGradCase(),
              CrossEntropy("SparseSoftmaxCrossEntropyWithLogits", {8, 10}, 1),
              CrossEntropy("CrossEntropyOfLargeLogits", {5, 3}, 30),
              CrossEntropy("CrossEntropyLarge", {64, 1000}, 2),
              InBFloat16(SoftmaxCase("Softmax", {4, 10}, 1)),
              InBFloat16(SoftmaxCase("SoftmaxOfLargeLogits", {3, 4, 5}, 30)),
              InBFloat16(SoftmaxGradCase()),
              InBFloat16(CrossEntropy("CrossEntropy", {8, 10}, 1),
                         {.outputs = {0}}),
              InBFloat16(CrossEntropy("CrossEntropyLarge", {64, 1000}, 2),
                         {.outputs = {0}}),
          },
      .bad =
          {
              {.name = "SoftmaxOfScalar",
               .op = "Softmax",
               .inputs = {Float32({})},
               .error = "x must have 1 dimension or more"},
              {.name = "SoftmaxGradOfTwoShapes",
               .op = "SoftmaxGrad",
               .inputs = {Float32({2, 3}), Float32({2, 4})},
               .error = "y must be float32[2, 3], as dy"},
              {.name = "CrossEntropyOfImages",
               .op = "SparseSoftmaxCrossEntropyWithLogits",
               .inputs = {Float32({2, 3, 4}), Int32({2})},
               .error = "logits must have 2 dimensions"},
              {.name = "CrossEntropyOfFloatLabels",
               .op = "SparseSoftmaxCrossEntropyWithLogits",
               .inputs = {Float32({2, 3}), Float32({2})},
               .error = "labels must be int32[2], as the rows of logits"},
          },
  };
}

}  // namespace spillway::testing
