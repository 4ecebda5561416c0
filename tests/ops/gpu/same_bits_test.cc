// GPU kernels that do not round, or round as the CPU does, are bitwise
// identical to the CPU's: with sizes and values that reach all their paths.
// They run without a GPU (tests/support/cuda_emulation.h).
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "executor/kernel_registry.h"
#include "graph/dtype.h"
#include "tests/ops/cases/run_op_case.h"
#include "tests/ops/gpu/emulated_kernel.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::BFloat16s;
using testing::Doubles;
using testing::EmulatedKernel;
using testing::Fill;
using testing::Float32;
using testing::Int32;
using testing::OpCase;
using testing::OpRun;
using testing::RunOpCase;

void ExpectTheBitsOfTheCpu(const OpCase& op_case) {
  ASSERT_OK_AND_ASSIGN(const OpRun cpu, RunOpCase(op_case));
  ASSERT_OK_AND_ASSIGN(
      const OpRun gpu,
      RunOpCase(op_case, {.factory = EmulatedKernel(op_case.op)}));
  for (size_t i = 0; i < cpu.outputs.size(); ++i) {
    EXPECT_EQ(gpu.outputs[i].bytes, cpu.outputs[i].bytes)
        << op_case.op << " of " << op_case.inputs[0].type.ToString();
  }
}

TensorType Of(DType dtype, const Shape& shape) {
  return {.dtype = dtype, .shape = shape};
}

TEST(GpuSameBitsTest, DropoutDropsAndScalesTheSame) {
  for (const TensorType& type :
       {Float32({10007}), BFloat16s({10007}), Float32({3}), BFloat16s({64})}) {
    ExpectTheBitsOfTheCpu({.name = "Dropout",
                           .op = "Dropout",
                           .inputs = {{.type = type}},
                           .attributes = {{"rate", 0.37}, {"seed", -5}},
                           .outputs = {type}});
  }
}

TEST(GpuSameBitsTest, AddNAddsMoreTermsThanOneLaunchTakes) {
  const TensorType type = Float32({1003});
  for (const size_t terms : {64, 65, 150}) {
    ExpectTheBitsOfTheCpu(
        {.name = "AddN",
         .op = "AddN",
         .inputs = std::vector<testing::CaseInput>(terms, {.type = type}),
         .outputs = {type}});
  }
}

TEST(GpuSameBitsTest, BroadcastsOverRowsAndColumns) {
  const std::vector<std::pair<TensorType, TensorType>> biases = {
      {Float32({70, 24}), Float32({24})},
      {Float32({70, 10}), Float32({10})},
      {BFloat16s({70, 24}), Float32({24})},
      {BFloat16s({70, 12}), BFloat16s({12})},
      {Float32({70, 1}), Float32({1})}};
  for (const auto& [x, bias] : biases) {
    ExpectTheBitsOfTheCpu({.name = "Bias",
                           .op = "BiasAdd",
                           .inputs = {{.type = x}, {.type = bias}},
                           .attributes = {{"activation", "relu"}},
                           .outputs = {x}});
    const TensorType scale = Of(bias.dtype, {70});
    ExpectTheBitsOfTheCpu({.name = "Scale",
                           .op = "ScaleRows",
                           .inputs = {{.type = x}, {.type = scale}},
                           .outputs = {x}});
  }
  for (const TensorType& a : {Float32({1003}), BFloat16s({7, 11})}) {
    ExpectTheBitsOfTheCpu(
        {.name = "Scalar",
         .op = "Sub",
         .inputs = {{.type = a}, {.type = Of(a.dtype, Shape())}},
         .outputs = {a}});
  }
}

TEST(GpuSameBitsTest, TakesSeveralVectorsAThread) {
  for (const TensorType& x :
       {Float32({3003}), BFloat16s({6007}), Float32({4100})}) {
    for (const size_t terms : {2, 3, 4, 7}) {
      ExpectTheBitsOfTheCpu(
          {.name = "AddN",
           .op = "AddN",
           .inputs = std::vector<testing::CaseInput>(terms, {.type = x}),
           .outputs = {x}});
    }
    ExpectTheBitsOfTheCpu({.name = "ReluGrad",
                           .op = "ReluGrad",
                           .inputs = {{.type = x}, {.type = x}},
                           .outputs = {x}});
    ExpectTheBitsOfTheCpu({.name = "Relu",
                           .op = "Relu",
                           .inputs = {{.type = x}},
                           .outputs = {x}});
    const TensorType y =
        Of(x.dtype == DType::kFloat32 ? DType::kBFloat16 : DType::kFloat32,
           x.shape);
    ExpectTheBitsOfTheCpu({.name = "Cast",
                           .op = "Cast",
                           .inputs = {{.type = x}},
                           .attributes = {{"dtype", y.dtype}},
                           .outputs = {y}});
  }
  const TensorType x = Float32({200, 24});
  ExpectTheBitsOfTheCpu({.name = "Bias",
                         .op = "BiasAdd",
                         .inputs = {{.type = x}, {.type = Float32({24})}},
                         .outputs = {x}});
}

TEST(GpuSameBitsTest, CastsBetweenAllTypes) {
  const DType dtypes[] = {DType::kFloat32, DType::kBFloat16, DType::kInt32,
                          DType::kInt64,   DType::kUInt8,    DType::kBool};
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      ExpectTheBitsOfTheCpu({.name = "Cast",
                             .op = "Cast",
                             .inputs = {{.type = Of(from, {1003}),
                                         .fill = Fill::kUniform,
                                         .high = 200}},
                             .attributes = {{"dtype", to}},
                             .outputs = {Of(to, {1003})}});
    }
  }
}

TEST(GpuSameBitsTest, TransposesInTiles) {
  struct Example {
    Shape x;
    std::vector<int64_t> perm;
    Shape y;
  };
  const std::vector<Example> examples = {
      {{3, 65, 7, 33}, {0, 3, 1, 2}, {3, 33, 65, 7}},
      {{3, 33, 65, 7}, {0, 2, 3, 1}, {3, 65, 7, 33}},
      {{40, 6, 50}, {2, 1, 0}, {50, 6, 40}},
      {{16, 2, 31, 3}, {2, 3, 0, 1}, {31, 3, 16, 2}},
      {{20, 15}, {1, 0}, {15, 20}},
      {{30, 4, 16}, {1, 0, 2}, {4, 30, 16}}};
  for (const auto& [x, perm, y] : examples) {
    for (const DType dtype :
         {DType::kFloat32, DType::kBFloat16, DType::kUInt8, DType::kInt64}) {
      ExpectTheBitsOfTheCpu({.name = "Transpose",
                             .op = "Transpose",
                             .inputs = {{.type = Of(dtype, x),
                                         .fill = Fill::kIntegers,
                                         .high = 200}},
                             .attributes = {{"perm", perm}},
                             .outputs = {Of(dtype, y)}});
    }
  }
}

TEST(GpuSameBitsTest, CopiesRowsAsWideAsTheyAreAligned) {
  for (const int64_t begin : {0, 1, 2, 4, 8}) {
    ExpectTheBitsOfTheCpu(
        {.name = "Slice",
         .op = "Slice",
         .inputs = {{.type = BFloat16s({9, 48})}},
         .attributes = {{"begin", {1, begin}}, {"size", {7, 32}}},
         .outputs = {BFloat16s({7, 32})}});
    ExpectTheBitsOfTheCpu({.name = "Concat",
                           .op = "Concat",
                           .inputs = {{.type = BFloat16s({9, 8 + begin})},
                                      {.type = BFloat16s({9, 16})}},
                           .attributes = {{"axis", 1}},
                           .outputs = {BFloat16s({9, 24 + begin})}});
    const AttributeValue::List paddings = {std::vector<int64_t>{1, 2},
                                           std::vector<int64_t>{begin, 3}};
    ExpectTheBitsOfTheCpu(
        {.name = "Pad",
         .op = "Pad",
         .inputs = {{.type = BFloat16s({5, 16})}},
         .attributes = {{"paddings", paddings}, {"value", 1.5}},
         .outputs = {BFloat16s({8, 19 + begin})}});
  }
}

TEST(GpuSameBitsTest, RepeatsGradientsOfMeans) {
  struct Example {
    std::vector<int64_t> axes;
    Shape dy;
  };
  const std::vector<Example> examples = {
      {{0, 2}, {40}}, {{1}, {20, 24}}, {{2}, {20, 40}}, {{0, 1, 2}, {}}};
  const Shape x = {20, 40, 24};
  for (const auto& [axes, dy] : examples) {
    for (const std::string op : {"MeanGrad", "SumGrad"}) {
      ExpectTheBitsOfTheCpu({.name = "Repeat",
                             .op = op,
                             .inputs = {{.type = BFloat16s(dy)}},
                             .attributes = {{"axes", axes}, {"input_shape", x}},
                             .outputs = {BFloat16s(x)}});
    }
  }
}

TEST(GpuSameBitsTest, FindsClassesAmongMoreThanAWarpHasThreads) {
  const testing::CaseInput x = {
      .type = Float32({33, 100}), .fill = Fill::kIntegers, .high = 90};
  ExpectTheBitsOfTheCpu({.name = "ArgMax",
                         .op = "ArgMax",
                         .inputs = {x},
                         .attributes = {{"axis", 1}},
                         .outputs = {Int32({33})}});
  ExpectTheBitsOfTheCpu({.name = "InTopK",
                         .op = "InTopK",
                         .inputs = {x,
                                    {.type = Int32({33}),
                                     .fill = Fill::kIntegers,
                                     .low = -1,
                                     .high = 101}},
                         .attributes = {{"k", 30}},
                         .outputs = {Of(DType::kBool, {33})}});
}

// On both paths: along rows, and along columns.
TEST(GpuSameBitsTest, ArgMaxTakesNaNsForTheLeastButInTheFirstPlace) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Doubles values = {kNaN, kInfinity,  2,          1,    kNaN, 3,
                          kNaN, -kInfinity, -kInfinity, -9,   kNaN, -9,
                          7,    kNaN,       kInfinity,  kNaN, kNaN, kNaN};
  for (const auto& [axis, y] :
       {std::pair(0, Shape{3}), std::pair(1, Shape{6})}) {
    ExpectTheBitsOfTheCpu({.name = "ArgMax",
                           .op = "ArgMax",
                           .inputs = {{.type = Float32({6, 3}),
                                       .fill = Fill::kValues,
                                       .values = values}},
                           .attributes = {{"axis", axis}},
                           .outputs = {Int32(y)}});
  }
}

}  // namespace
}  // namespace spillway
