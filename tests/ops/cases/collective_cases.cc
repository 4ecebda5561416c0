// AllReduce and its variants.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/ops/cases/all_cases.h"

namespace spillway::testing {
namespace {

// The only rank of a run: the sum over all ranks is weight * x.
DoublesList Weighted(const DoublesList& inputs) {
  DoublesList outputs(inputs.begin(), inputs.end() - 1);
  for (Doubles& output : outputs) {
    for (double& element : output) element *= inputs.back()[0];
  }
  return outputs;
}

CaseInput Weight(double weight) {
  return {.type = Float32({}), .fill = Fill::kValues, .values = {weight}};
}

CaseInput Turn(double turn) {
  return {.type = Int32({}), .fill = Fill::kValues, .values = {turn}};
}

// Of variables..., weight, turn: the outputs, and the variables after it.
DoublesList InTurn(const DoublesList& inputs) {
  DoublesList updated = Weighted({inputs.begin(), inputs.end() - 1});
  const DoublesList outputs = updated;
  updated.insert(updated.end(), outputs.begin(), outputs.end());
  return updated;
}

DoublesList NotInTurn(const DoublesList& inputs) {
  DoublesList updated(inputs.begin(), inputs.end() - 2);
  const DoublesList outputs = updated;
  updated.insert(updated.end(), outputs.begin(), outputs.end());
  return updated;
}

CaseInput Values(std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return {.type = Float32({count}),
          .fill = Fill::kValues,
          .values = std::move(values)};
}

// What is sent of the tensors of a bucket, all together.
using Sends = std::function<std::vector<bool>(const Doubles& bucket)>;

Sends AtLeast(double magnitude) {
  return [magnitude](const Doubles& bucket) {
    std::vector<bool> sent;
    for (const double x : bucket) sent.push_back(std::abs(x) >= magnitude);
    return sent;
  };
}

// The ceil(fraction n) largest, by a stable sort.
Sends LargestPart(double fraction) {
  return [fraction](const Doubles& bucket) {
    std::vector<size_t> order(bucket.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](size_t i) { return std::abs(bucket[i]); });
    order.resize(static_cast<size_t>(
        std::ceil(fraction * static_cast<double>(bucket.size()))));
    std::vector<bool> sent(bucket.size(), false);
    for (const size_t i : order) sent[i] = true;
    return sent;
  };
}

// The sums of the only rank, of (x, residual)..., weight, and then what stays
// in the residuals; or of x..., weight.
Reference Sparse(bool has_residuals, const Sends& sends) {
  return [=](const DoublesList& inputs) {
    const size_t each = has_residuals ? 2 : 1;
    Doubles bucket;
    for (size_t i = 0; i + 1 < inputs.size(); i += each) {
      for (size_t k = 0; k < inputs[i].size(); ++k) {
        bucket.push_back(inputs[i][k] + (has_residuals ? inputs[i + 1][k] : 0));
      }
    }
    const std::vector<bool> sent = sends(bucket);
    DoublesList sums;
    DoublesList residuals;
    size_t at = 0;
    for (size_t i = 0; i + 1 < inputs.size(); i += each) {
      sums.emplace_back();
      residuals.emplace_back();
      for (size_t k = 0; k < inputs[i].size(); ++k, ++at) {
        sums.back().push_back(sent[at] ? inputs.back()[0] * bucket[at] : 0);
        residuals.back().push_back(sent[at] ? 0 : bucket[at]);
      }
    }
    if (has_residuals) {
      sums.insert(sums.end(), residuals.begin(), residuals.end());
    }
    return sums;
  };
}

// A function that ignores its inputs.
std::function<DoublesList(const DoublesList&)> Gives(DoublesList outputs) {
  return [outputs](const DoublesList&) { return outputs; };
}

// More tensors than a launch on a GPU takes, of several sizes.
OpCase ABucketOfSeventy() {
  OpCase op_case = {.name = "ABucketOfSeventy",
                    .op = "AllReduce",
                    .reference = Weighted,
                    .flops = 10 * (1 + 2 + 3 + 4 + 5 + 6 + 7)};
  for (int64_t i = 0; i < 70; ++i) {
    const TensorType type = Float32({1 + i % 7});
    op_case.inputs.push_back({type});
    op_case.outputs.push_back(type);
  }
  op_case.inputs.push_back(Weight(0.5));
  return op_case;
}

}  // namespace

OpCases CollectiveCases() {
  return {
      .good = {{.name = "OneTensor",
                .op = "AllReduce",
                .inputs = {{Float32({3, 5})}, Weight(0.25)},
                .outputs = {Float32({3, 5})},
                .reference = Weighted,
                .flops = 15},
               {.name = "ABucketOfThree",
                .op = "AllReduce",
                .inputs = {{Float32({2, 3})},
                           {Float32({17})},
                           {Float32({})},
                           Weight(1)},
                .outputs = {Float32({2, 3}), Float32({17}), Float32({})},
                .reference = Weighted,
                .flops = 24},
               ABucketOfSeventy(),
               {.name = "OnAHalfWire",
                .op = "AllReduce",
                .inputs = {{Float32({3, 5})}, {Float32({2})}, Weight(0.3)},
                .attributes = {{"wire", DType::kFloat16}, {"wire_scale", 16.0}},
                .outputs = {Float32({3, 5}), Float32({2})},
                .reference = Weighted,
                .tolerance = 0x1p-10},
               {.name = "OnABFloat16Wire",
                .op = "AllReduce",
                .inputs = {{Float32({33})}, Weight(0.3)},
                .attributes = {{"wire", DType::kBFloat16}},
                .outputs = {Float32({33})},
                .reference = Weighted,
                .tolerance = 0x1p-7},
               {.name = "Clipped",
                .op = "AllReduce",
                .inputs = {{.type = Float32({4}),
                            .fill = Fill::kValues,
                            .values = {-3, 0.5, 2, 1}},
                           Weight(2)},
                .attributes = {{"clip", 1.5}},
                .outputs = {Float32({4})},
                .reference =
                    [](const DoublesList&) {
                      return DoublesList{{-3, 1, 3, 2}};
                    }},
               {.name = "OneInTurn",
                .op = "AllReduceInTurn",
                .inputs = {{Float32({3, 5})}, Weight(0.25), Turn(2)},
                .attributes = {{"own_turn", 2}},
                .outputs = {Float32({3, 5})},
                .reference = InTurn,
                .flops = 15},
               {.name = "ABucketInEveryTurn",
                .op = "AllReduceInTurn",
                .inputs =
                    {{Float32({33})}, {Float32({2, 2})}, Weight(0.5), Turn(-1)},
                .attributes = {{"own_turn", 2}},
                .outputs = {Float32({33}), Float32({2, 2})},
                .reference = InTurn},
               {.name = "ABucketNotInTurn",
                .op = "AllReduceInTurn",
                .inputs =
                    {{Float32({33})}, {Float32({2, 2})}, Weight(0.5), Turn(1)},
                .attributes = {{"own_turn", 2}},
                .outputs = {Float32({33}), Float32({2, 2})},
                .reference = NotInTurn},
               // By hand: two of eight, and the same gradient once more.
               {.name = "TheTwoLargest",
                .op = "ErrorFeedbackAllReduce",
                .inputs = {Values({1, -5, 2, 0.5, 4, -0.1, 0, 3}),
                           Values({0, 0, 0, 0, 0, 0, 0, 0}), Weight(1)},
                .attributes = {{"topk_fraction", 0.25}},
                .outputs = {Float32({8})},
                .reference = Gives(
                    {{0, -5, 0, 0, 4, 0, 0, 0}, {1, 0, 2, 0.5, 0, -0.1, 0, 3}}),
                .flops = 8},
               {.name = "TheTwoLargestWithWhatWasLeft",
                .op = "ErrorFeedbackAllReduce",
                .inputs = {Values({1, -5, 2, 0.5, 4, -0.1, 0, 3}),
                           Values({1, 0, 2, 0.5, 0, -0.1, 0, 3}), Weight(0.5)},
                .attributes = {{"topk_fraction", 0.25}},
                .outputs = {Float32({8})},
                .reference = Gives({{0, -2.5, 0, 0, 0, 0, 0, 3},
                                    {2, 0, 4, 1, 4, -0.2, 0, 0}})},
               {.name = "TheFirstOfEqualOnes",
                .op = "SparseAllReduce",
                .inputs = {Values({1, -2}), Values({2, 0, 2}), Weight(1)},
                .attributes = {{"topk_fraction", 0.4}},
                .outputs = {Float32({2}), Float32({3})},
                .reference = Gives({{0, -2}, {2, 0, 0}})},
               // In five rounds: a node's scratch has 8,192 pairs.
               {.name = "ThoseOfAMagnitude",
                .op = "SparseAllReduce",
                .inputs = {{Float32({9, 2003})}, {Float32({3})}, Weight(0.3)},
                .attributes = {{"min_magnitude", 0.1}},
                .outputs = {Float32({9, 2003}), Float32({3})},
                .reference = Sparse(false, AtLeast(0.1))},
               {.name = "ThoseOfAMagnitudeWithResiduals",
                .op = "ErrorFeedbackAllReduce",
                .inputs = {{Float32({9, 2003})},
                           {Float32({9, 2003})},
                           {Float32({3})},
                           {Float32({3})},
                           Weight(0.3)},
                .attributes = {{"min_magnitude", 1.5}},
                .outputs = {Float32({9, 2003}), Float32({3})},
                .reference = Sparse(true, AtLeast(1.5))},
               {.name = "TheLargestOfMany",
                .op = "SparseAllReduce",
                .inputs = {{Float32({4100})}, {Float32({9, 2003})}, Weight(1)},
                .attributes = {{"topk_fraction", 0.01}},
                .outputs = {Float32({4100}), Float32({9, 2003})},
                .reference = Sparse(false, LargestPart(0.01))},
               {.name = "AllThatThereIs",
                .op = "ErrorFeedbackAllReduce",
                .inputs = {{Float32({9, 2003})},
                           {Float32({9, 2003})},
                           Weight(1)},
                .attributes = {{"topk_fraction", 1}},
                .outputs = {Float32({9, 2003})},
                .reference = Sparse(true, LargestPart(1))}},
      .bad = {{.name = "AllReduceOfIntegers",
               .op = "AllReduce",
               .inputs = {Float32({2}), Int32({2}), Float32({})},
               .error = "x 1 must be float32"},
              {.name = "AllReduceOfIntegersOnTheWire",
               .op = "AllReduce",
               .inputs = {Float32({2}), Float32({})},
               .attributes = {{"wire", DType::kInt32}},
               .error = "'wire' must be float32, float16 or bfloat16; it "
                        "is int32"},
              {.name = "AllReduceWithAScaleOfThree",
               .op = "AllReduce",
               .inputs = {Float32({2}), Float32({})},
               .attributes = {{"wire_scale", 3.0}},
               .error = "'wire_scale' must be a power of two from 2^-30 to "
                        "2^30; it is 3"},
              {.name = "AllReduceWithANegativeScale",
               .op = "AllReduce",
               .inputs = {Float32({2}), Float32({})},
               .attributes = {{"wire_scale", -1.0}},
               .error = "'wire_scale' must be a power of two"},
              {.name = "AllReduceClippedBelowZero",
               .op = "AllReduce",
               .inputs = {Float32({2}), Float32({})},
               .attributes = {{"clip", -1.0}},
               .error = "'clip' must be a float32 from 0 on; it is -1"},
              {.name = "AllReduceWithoutAWeight",
               .op = "AllReduce",
               .inputs = {Float32({2}), Float32({2})},
               .error = "weight must be float32[], as a number"},
              {.name = "AllReduceInTurnOfAFloat",
               .op = "AllReduceInTurn",
               .inputs = {Float32({2}), Float32({}), Float32({})},
               .attributes = {{"own_turn", 0}},
               .error = "turn must be int32[], as an integer"},
              {.name = "AllReduceInTurnBeforeTheFirst",
               .op = "AllReduceInTurn",
               .inputs = {Float32({2}), Float32({}), Int32({})},
               .attributes = {{"own_turn", -1}},
               .error = "'own_turn' must be an int32 from 0 on; it is -1"},
              {.name = "AllReduceInTurnOfIntegers",
               .op = "AllReduceInTurn",
               .inputs = {Int32({2}), Float32({}), Int32({})},
               .attributes = {{"own_turn", 0}},
               .error = "variable 0 must be float32"},
              {.name = "MoreThanAllOfThem",
               .op = "SparseAllReduce",
               .inputs = {Float32({2}), Float32({})},
               .attributes = {{"topk_fraction", 1.5}},
               .error = "'topk_fraction' must be from 0 to 1; it is 1.5"},
              {.name = "ANegativeMagnitude",
               .op = "SparseAllReduce",
               .inputs = {Float32({2}), Float32({})},
               .attributes = {{"min_magnitude", -0.5}},
               .error = "'min_magnitude' must be a float32 from 0 on; it is "
                        "-0.5"},
              {.name = "AResidualOfAnotherShape",
               .op = "ErrorFeedbackAllReduce",
               .inputs = {Float32({2}), Float32({3}), Float32({})},
               .error = "residual 0 must be float32[2], as x"}}};
}

}  // namespace spillway::testing
