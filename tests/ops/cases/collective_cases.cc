// AllReduce.
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

}  // namespace

OpCases CollectiveCases() {
  return {.good = {{.name = "OneTensor",
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
                    .flops = 24}},
          .bad = {{.name = "AllReduceOfIntegers",
                   .op = "AllReduce",
                   .inputs = {Float32({2}), Int32({2}), Float32({})},
                   .error = "x 1 must be float32"},
                  {.name = "AllReduceWithoutAWeight",
                   .op = "AllReduce",
                   .inputs = {Float32({2}), Float32({2})},
                   .error = "weight must be float32[], as a number"}}};
}

}  // namespace spillway::testing
