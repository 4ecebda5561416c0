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
                    }}},
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
               .error = "weight must be float32[], as a number"}}};
}

}  // namespace spillway::testing
