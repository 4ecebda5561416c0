// ArgMax, InTopK, Cast: from activations to classes and counts.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"
#include "tests/ops/cases/multi_index.h"

namespace spillway::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

OpCase ArgMaxCase(const std::string& name, const Shape& x, int64_t axis,
                  const Shape& y) {
  const auto along = static_cast<size_t>(axis < 0 ? axis + x.rank() : axis);
  const auto reference = [=](const DoublesList& in) {
    return DoublesList{FromIndices(y, [&](Index index) {
      index.insert(index.begin() + static_cast<int64_t>(along), 0);
      double best = -std::numeric_limits<double>::infinity();
      double place = 0;
      for (; index[along] < x.dims()[along]; ++index[along]) {
        if (in[0][Flat(x, index)] <= best) continue;
        best = in[0][Flat(x, index)];
        place = static_cast<double>(index[along]);
      }
      return place;
    })};
  };
  return {.name = name,
          .op = "ArgMax",
          .inputs = {{.type = Float32(x), .fill = Fill::kIntegers, .high = 9}},
          .attributes = {{"axis", axis}},
          .outputs = {Int32(y)},
          .reference = reference,
          .tolerance = 0};
}

// Ties count for the label: only larger predictions rank before it.
OpCase InTopKCase(const std::string& name, int64_t k) {
  return {
      .name = name,
      .op = "InTopK",
      .inputs = {{.type = Float32({40, 12}),
                  .fill = Fill::kIntegers,
                  .high = 20},
                 {.type = Int32({40}),
                  .fill = Fill::kIntegers,
                  .low = -1,
                  .high = 13}},
      .attributes = {{"k", k}},
      .outputs = {{.dtype = DType::kBool, .shape = {40}}},
      .reference =
          [k](const DoublesList& in) {
            Doubles y(40, 0);
            for (size_t row = 0; row < 40; ++row) {
              if (in[1][row] < 0 || in[1][row] > 11) continue;
              const auto begin = in[0].begin() + static_cast<int64_t>(row) * 12;
              const double label = begin[static_cast<int64_t>(in[1][row])];
              Doubles sorted(begin, begin + 12);
              std::ranges::sort(sorted, std::greater());
              y[row] = std::ranges::find(sorted, label) - sorted.begin() < k;
            }
            return DoublesList{y};
          },
      .tolerance = 0};
}

OpCase InTopKOfNaN() {
  return {
      .name = "InTopKOfNaN",
      .op = "InTopK",
      .inputs = {{.type = Float32({2, 2}),
                  .fill = Fill::kValues,
                  .values = {kNaN, 1, kNaN, 1}},
                 {.type = Int32({2}), .fill = Fill::kValues, .values = {0, 1}}},
      .attributes = {{"k", 2}},
      .outputs = {{.dtype = DType::kBool, .shape = {2}}},
      .reference =
          [](const DoublesList&) {
            return DoublesList{{0, 1}};
          },
      .tolerance = 0};
}

// Expected values written by hand.
OpCase CastCase(const std::string& name, DType from, const Doubles& x, DType to,
                const Doubles& y) {
  const Shape shape = {static_cast<int64_t>(x.size())};
  return {.name = name,
          .op = "Cast",
          .inputs = {{.type = {.dtype = from, .shape = shape},
                      .fill = Fill::kValues,
                      .values = x}},
          .attributes = {{"dtype", to}},
          .outputs = {{.dtype = to, .shape = shape}},
          .reference = [y](const DoublesList&) { return DoublesList{y}; },
          .tolerance = 0};
}

OpCase CastOfFloats(const std::string& name, DType from, DType to) {
  return {.name = name,
          .op = "Cast",
          .inputs = {{.type = {.dtype = from, .shape = {5}}}},
          .attributes = {{"dtype", to}},
          .outputs = {{.dtype = to, .shape = {5}}},
          .reference = [](const DoublesList& in) { return in; },
          .tolerance = to == DType::kBFloat16 ? 0x1p-8 : 0,
          .gradients = {0},
          .gradient_tolerance = 0x1p-6};
}

std::vector<BadOp> BadClassifies() {
  return {
      {.name = "ArgMaxOverMissingAxis",
       .op = "ArgMax",
       .inputs = {Float32({2, 3})},
       .attributes = {{"axis", -3}},
       .error = "axis -3 does not exist"},
      {.name = "ArgMaxOfScalar",
       .op = "ArgMax",
       .inputs = {Float32({})},
       .attributes = {{"axis", 0}},
       .error = "axis 0 does not exist"},
      {.name = "InTopZero",
       .op = "InTopK",
       .inputs = {Float32({2, 3}), Int32({2})},
       .attributes = {{"k", 0}},
       .error = "attribute 'k' must be positive; it is 0"},
      {.name = "InTopKOfTooManyLabels",
       .op = "InTopK",
       .inputs = {Float32({2, 3}), Int32({3})},
       .attributes = {{"k", 1}},
       .error = "labels must be int32[2], as the rows of predictions"},
      {.name = "CastToUnknownType",
       .op = "Cast",
       .inputs = {Float32({2})},
       .attributes = {{"dtype", "float99"}},
       .error = "names no dtype: 'float99'"},
  };
}

// Values whose float16 result differs from the bfloat16 result.
std::vector<OpCase> Float16Casts() {
  const DType f16 = DType::kFloat16;
  return {CastCase("CastFloat16ToBytes", f16, {-1, 254.7, 255.9}, DType::kUInt8,
                   {0, 254, 255}),
          CastCase("CastFloat16ToBool", f16, {0, 1e-7, 1e-8, -2}, DType::kBool,
                   {0, 1, 0, 1}),
          CastCase("CastIntegersToFloat16", DType::kInt64,
                   {2049, 2050, -3, 65519}, f16, {2048, 2050, -3, 65504}),
          CastCase("CastFloat16ToBFloat16", f16, {257, -0x1p-24},
                   DType::kBFloat16, {256, -0x1p-24}),
          CastCase("CastBFloat16ToFloat16", DType::kBFloat16,
                   {-60000, 0x1.8p-25, 3}, f16, {-59904, 0x1p-24, 3})};
}

}  // namespace

OpCases ClassifyCases() {
  const DType f32 = DType::kFloat32;
  const DType bf16 = DType::kBFloat16;
  const DType u8 = DType::kUInt8;
  OpCases cases = {
      .good =
          {
              ArgMaxCase("ArgMax", {30, 11}, 1, {30}),
              ArgMaxCase("ArgMaxLast", {2, 3, 4}, -1, {2, 3}),
              ArgMaxCase("ArgMaxFirst", {5, 3, 4}, 0, {3, 4}),
              ArgMaxCase("ArgMaxMiddle", {2, 5, 4}, 1, {2, 4}),
              InBFloat16(ArgMaxCase("ArgMaxLast", {2, 3, 4}, -1, {2, 3})),
              CastOfFloats("Cast", f32, f32),
              CastOfFloats("CastToBFloat16", f32, bf16),
              CastOfFloats("CastFromBFloat16", bf16, f32),
              CastOfFloats("CastBetweenBFloat16", bf16, bf16),
              CastCase("CastBFloat16ToIntegers", bf16, {1.9, -300, 3e9, kNaN},
                       DType::kInt32, {1, -300, 2147483647, 0}),
              CastCase("CastBFloat16ToBytes", bf16, {-1, 254.7, 3}, u8,
                       {0, 255, 3}),
              CastCase("CastBFloat16ToBool", bf16, {0, 1e-30, -2}, DType::kBool,
                       {0, 1, 1}),
              CastCase("CastBoolToBFloat16", DType::kBool, {0, 1}, bf16,
                       {0, 1}),
              CastCase("CastIntegersToBFloat16", DType::kInt64, {257, 258, -3},
                       bf16, {256, 258, -3}),
              CastCase("CastToIntegers", f32, {1.9, -1.9, 3e9, -3e9, kNaN},
                       DType::kInt32, {1, -1, 2147483647, -2147483648.0, 0}),
              CastCase("CastToBytes", f32, {-1, 0.5, 255.9, 256}, u8,
                       {0, 0, 255, 255}),
              CastCase("CastToBool", f32, {0, 0.1, -2}, DType::kBool,
                       {0, 1, 1}),
              CastCase("CastFromBool", DType::kBool, {0, 1, 1}, f32, {0, 1, 1}),
              CastCase("CastFromBytes", u8, {0, 7, 255}, f32, {0, 7, 255}),
              CastCase("CastBetweenIntegers", DType::kInt64,
                       {-5e9, -1, 300, 5e9}, u8, {0, 0, 255, 255}),
              CastCase("CastToWideIntegers", DType::kInt32, {-7, 2147483647},
                       DType::kInt64, {-7, 2147483647}),
              InTopKCase("InTopK", 1),
              InTopKCase("InTopFive", 5),
              InBFloat16(InTopKCase("InTopFive", 5)),
              InTopKOfNaN(),
          },
      .bad = BadClassifies(),
  };
  for (OpCase& cast : Float16Casts()) cases.good.push_back(std::move(cast));
  return cases;
}

}  // namespace spillway::testing
