// Identity, Reshape, Concat, Pad, Slice, Transpose: ops that only move bytes.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/multi_index.h"

namespace spillway::testing {
namespace {

OpCase SameBytes(const std::string& name, const std::string& op, const Shape& x,
                 const Shape& y, const Attributes& attributes) {
  return {.name = name,
          .op = op,
          .inputs = {{.type = Float32(x)}},
          .attributes = attributes,
          .outputs = {Float32(y)},
          .reference = [](const DoublesList& in) { return in; },
          .gradients = {0}};
}

// y[i] = x[from(i)], or `otherwise` if x has no such element.
OpCase Move(const std::string& name, const std::string& op, const Shape& x,
            const Shape& y, const std::function<Index(const Index&)>& from,
            double otherwise = 0) {
  return {.name = name,
          .op = op,
          .inputs = {{.type = Float32(x)}},
          .outputs = {Float32(y)},
          .reference =
              [=](const DoublesList& in) {
                return DoublesList{FromIndices(y, [&](const Index& to) {
                  const Index index = from(to);
                  bool inside = true;
                  for (size_t i = 0; i < index.size(); ++i) {
                    inside = inside && index[i] >= 0 && index[i] < x.dims()[i];
                  }
                  return inside ? in[0][Flat(x, index)] : otherwise;
                })};
              },
          .gradients = {0}};
}

OpCase SliceCase(const std::string& name, const Shape& x, const Index& begin,
                 const Index& size, const Shape& y) {
  OpCase slice = Move(name, "Slice", x, y, [begin](Index index) {
    for (size_t i = 0; i < index.size(); ++i) index[i] += begin[i];
    return index;
  });
  slice.attributes = {{"begin", begin}, {"size", size}};
  return slice;
}

OpCase PadCase(const std::string& name, const Shape& x,
               const AttributeValue::List& paddings, const Index& before,
               const Shape& y, double value) {
  OpCase pad = Move(
      name, "Pad", x, y,
      [before](Index index) {
        for (size_t i = 0; i < index.size(); ++i) index[i] -= before[i];
        return index;
      },
      value);
  pad.attributes = {{"paddings", paddings}, {"value", value}};
  return pad;
}

OpCase TransposeCase(const std::string& name, const Shape& x, const Index& perm,
                     const Shape& y) {
  OpCase transpose = Move(name, "Transpose", x, y, [perm](const Index& to) {
    Index from(to.size());
    for (size_t i = 0; i < to.size(); ++i) {
      from[static_cast<size_t>(perm[i])] = to[i];
    }
    return from;
  });
  transpose.attributes = {{"perm", perm}};
  return transpose;
}

OpCase ConcatCase(const std::string& name, const std::vector<Shape>& xs,
                  int axis, const Shape& y, int64_t room = 0) {
  OpCase concat = {.name = name,
                   .op = "Concat",
                   .attributes = {{"axis", axis}, {"room", room}},
                   .outputs = {Float32(y)}};
  for (const Shape& x : xs) {
    concat.gradients.push_back(static_cast<int>(concat.inputs.size()));
    concat.inputs.push_back({.type = Float32(x)});
  }
  const auto along = static_cast<size_t>(axis < 0 ? axis + y.rank() : axis);
  concat.reference = [=](const DoublesList& in) {
    return DoublesList{FromIndices(y, [&](Index index) {
      for (size_t k = 0; k < xs.size(); ++k) {
        if (index[along] < xs[k].dims()[along]) {
          return in[k][Flat(xs[k], index)];
        }
        index[along] -= xs[k].dims()[along];
      }
      return 0.0;
    })};
  };
  return concat;
}

// Into `base`, from `begin` on.
OpCase ConcatIntoCase(const std::string& name, const Shape& base,
                      const std::vector<Shape>& xs, int axis, int64_t begin) {
  OpCase into = {.name = name,
                 .op = "ConcatInto",
                 .inputs = {{.type = Float32(base)}},
                 .attributes = {{"axis", axis}, {"begin", begin}},
                 .outputs = {Float32(base)}};
  for (const Shape& x : xs) into.inputs.push_back({.type = Float32(x)});
  const auto along = static_cast<size_t>(axis < 0 ? axis + base.rank() : axis);
  into.reference = [=](const DoublesList& in) {
    return DoublesList{FromIndices(base, [&](const Index& to) {
      Index index = to;
      index[along] -= begin;
      for (size_t k = 0; k < xs.size() && index[along] >= 0; ++k) {
        if (index[along] < xs[k].dims()[along]) {
          return in[k + 1][Flat(xs[k], index)];
        }
        index[along] -= xs[k].dims()[along];
      }
      return in[0][Flat(base, to)];
    })};
  };
  return into;
}

// The same case with integers, for another dtype: exact, without gradients.
OpCase WithDType(OpCase base, DType dtype, const std::string& suffix) {
  base.name += suffix;
  base.gradients = {};
  base.tolerance = 0;
  for (CaseInput& input : base.inputs) {
    input.type.dtype = dtype;
    input.fill = Fill::kIntegers;
    input.high = dtype == DType::kBool ? 2 : 200;
  }
  for (TensorType& type : base.outputs) type.dtype = dtype;
  return base;
}

OpCase PlainTranspose() {
  return TransposeCase("Transpose", {3, 4, 5}, {2, 0, 1}, {5, 3, 4});
}

std::vector<OpCase> GoodLayouts() {
  return {
      SameBytes("Identity", "Identity", {2, 3}, {2, 3}, {}),
      SameBytes("Reshape", "Reshape", {2, 6}, {3, 4}, {{"shape", {3, 4}}}),
      SameBytes("ReshapeToFlat", "Reshape", {2, 3, 4}, {2, 12},
                {{"shape", {2, -1}}}),
      SameBytes("ReshapeToScalar", "Reshape", {1, 1}, {}, {{"shape", Shape()}}),
      ConcatCase("Concat", {{2, 3, 4}, {2, 3, 1}, {2, 3, 6}}, 2, {2, 3, 11}),
      ConcatCase("ConcatWithRoom", {{2, 3, 4}, {2, 3, 1}}, 2, {2, 3, 9}, 4),
      ConcatCase("ConcatRowsWithRoom", {{2, 3}, {1, 3}}, 0, {5, 3}, 2),
      ConcatIntoCase("ConcatInto", {2, 3, 9}, {{2, 3, 1}, {2, 3, 4}}, -1, 3),
      ConcatIntoCase("ConcatIntoRows", {7, 3}, {{2, 3}}, 0, 5),
      WithDType(ConcatIntoCase("ConcatInto", {4, 9, 800}, {{4, 9, 500}}, 2, 1),
                DType::kFloat32, "Large"),
      ConcatCase("ConcatOfOne", {{2, 3}}, 0, {2, 3}),
      ConcatCase("ConcatRows", {{2, 3}, {5, 3}}, -2, {7, 3}),
      WithDType(
          ConcatCase("Concat", {{4, 9, 300}, {4, 9, 500}}, -1, {4, 9, 800}),
          DType::kFloat32, "Large"),
      PadCase("Pad", {2, 3, 4}, {{0, 0}, {1, 2}, {3, 0}}, {0, 1, 3}, {2, 6, 7},
              0),
      PadCase("PadWithValue", {5}, {{2, 1}}, {2}, {8}, -1.5),
      PadCase("PadScalar", {}, {}, {}, {}, 0),
      SliceCase("Slice", {4, 5, 6}, {1, 0, 2}, {2, 5, 3}, {2, 5, 3}),
      SliceCase("SliceToTheEnd", {4, 5}, {3, 1}, {-1, -1}, {1, 4}),
      WithDType(SliceCase("Slice", {50001}, {17}, {40000}, {40000}),
                DType::kFloat32, "Large"),
      PlainTranspose(),
      TransposeCase("TransposeToNHWC", {2, 3, 4, 5}, {0, 2, 3, 1},
                    {2, 4, 5, 3}),
      WithDType(TransposeCase("Transpose", {130, 140}, {1, 0}, {140, 130}),
                DType::kFloat32, "Large"),
      TransposeCase("TransposeOfOnes", {1, 3, 1}, {2, 1, 0}, {1, 3, 1}),
      WithDType(PlainTranspose(), DType::kBFloat16, "OfBFloat16"),
      WithDType(SameBytes("Identity", "Identity", {2, 3}, {2, 3}, {}),
                DType::kBFloat16, "OfBFloat16"),
      WithDType(
          SameBytes("Reshape", "Reshape", {2, 6}, {3, 4}, {{"shape", {3, 4}}}),
          DType::kBFloat16, "OfBFloat16"),
      WithDType(ConcatCase("Concat", {{2, 3}, {2, 1}}, 1, {2, 4}),
                DType::kBFloat16, "OfBFloat16"),
      WithDType(ConcatCase("ConcatWithRoom", {{2, 3}, {2, 1}}, 1, {2, 5}, 1),
                DType::kBFloat16, "OfBFloat16"),
      WithDType(ConcatIntoCase("ConcatInto", {2, 5}, {{2, 3}}, 1, 1),
                DType::kBFloat16, "OfBFloat16"),
      WithDType(ConcatIntoCase("ConcatInto", {2, 5}, {{2, 3}}, 1, 1),
                DType::kUInt8, "OfBytes"),
      WithDType(PadCase("PadWithValue", {5}, {{2, 1}}, {2}, {8}, -1.5),
                DType::kBFloat16, "OfBFloat16"),
      WithDType(PadCase("Pad", {3}, {{2, 1}}, {2}, {6}, 0), DType::kBFloat16,
                "OfBFloat16"),
      WithDType(SliceCase("Slice", {9}, {2}, {5}, {5}), DType::kBFloat16,
                "OfBFloat16"),
      WithDType(PlainTranspose(), DType::kInt64, "Of8Bytes"),
      WithDType(PlainTranspose(), DType::kInt32, "Of4Bytes"),
      WithDType(PlainTranspose(), DType::kBool, "Of1Byte"),
      WithDType(ConcatCase("Concat", {{2, 3}, {2, 1}}, 1, {2, 4}),
                DType::kUInt8, "OfBytes"),
      WithDType(PadCase("Pad", {3}, {{2, 1}}, {2}, {6}, 0), DType::kInt64,
                "OfIntegers"),
      WithDType(SliceCase("Slice", {9}, {2}, {5}, {5}), DType::kUInt8,
                "OfBytes"),
  };
}

std::vector<BadOp> BadLayouts() {
  return {
      {.name = "IdentityOfNothing",
       .op = "Identity",
       .error = "Identity takes 1 input"},
      {.name = "ReshapeToAnotherSize",
       .op = "Reshape",
       .inputs = {Float32({2, 3})},
       .attributes = {{"shape", {4}}},
       .error = "shape [4] does not hold the 6 elements of float32[2, 3]"},
      {.name = "ReshapeToNoWholeSize",
       .op = "Reshape",
       .inputs = {Float32({2, 3})},
       .attributes = {{"shape", {4, -1}}},
       .error = "does not hold the 6 elements"},
      {.name = "ReshapeWithTwoFreeDimensions",
       .op = "Reshape",
       .inputs = {Float32({2, 3})},
       .attributes = {{"shape", {-1, -1}}},
       .error = "more than one -1"},
      {.name = "ReshapeToNegativeSize",
       .op = "Reshape",
       .inputs = {Float32({2, 3})},
       .attributes = {{"shape", {-2, -3}}},
       .error = "attribute 'shape'"},
      {.name = "ReshapeToZero",
       .op = "Reshape",
       .inputs = {Float32({2, 3})},
       .attributes = {{"shape", {0, -1}}},
       .error = "attribute 'shape'"},
      {.name = "ConcatOfTwoRanks",
       .op = "Concat",
       .inputs = {Float32({2, 3}), Float32({2})},
       .attributes = {{"axis", 1}},
       .error =
           "x2 must be as x1, which is float32[2, 3], except in dimension 1"},
      {.name = "ConcatOfTwoDTypes",
       .op = "Concat",
       .inputs = {Float32({2}), Int32({2})},
       .attributes = {{"axis", 0}},
       .error = "it is int32[2]"},
      {.name = "ConcatOfScalars",
       .op = "Concat",
       .inputs = {Float32({}), Float32({})},
       .attributes = {{"axis", 0}},
       .error = "axis 0 does not exist"},
      {.name = "ConcatWithNegativeRoom",
       .op = "Concat",
       .inputs = {Float32({2})},
       .attributes = {{"axis", 0}, {"room", -1}},
       .error = "attribute 'room' is -1: negative"},
      {.name = "ConcatWithFarTooMuchRoom",
       .op = "Concat",
       .inputs = {Float32({2})},
       .attributes = {{"axis", 0},
                      {"room", std::numeric_limits<int64_t>::max()}},
       .error = "too large"},
      {.name = "ConcatIntoTooLittle",
       .op = "ConcatInto",
       .inputs = {Float32({2, 5}), Float32({2, 3})},
       .attributes = {{"axis", 1}, {"begin", 3}},
       .error = "3 elements from 3 do not lie in dimension 1"},
      {.name = "ConcatIntoOutside",
       .op = "ConcatInto",
       .inputs = {Float32({2, 5}), Float32({2, 3})},
       .attributes = {{"axis", 1}, {"begin", -1}},
       .error = "3 elements from -1 do not lie in dimension 1"},
      {.name = "ConcatIntoOtherRows",
       .op = "ConcatInto",
       .inputs = {Float32({2, 5}), Float32({3, 3})},
       .attributes = {{"axis", 1}, {"begin", 0}},
       .error = "x1 must be as base, which is float32[2, 5], except in"},
      {.name = "PadWithTooFewPairs",
       .op = "Pad",
       .inputs = {Float32({2, 3})},
       .attributes = {{"paddings", AttributeValue::List{{1, 1}}}},
       .error = "attribute 'paddings' has 1 items; x is float32[2, 3]"},
      {.name = "PadWithTriple",
       .op = "Pad",
       .inputs = {Float32({2})},
       .attributes = {{"paddings", AttributeValue::List{{1, 1, 1}}}},
       .error = "item 0 of attribute 'paddings' must be [before, after]"},
      {.name = "PadByNegative",
       .op = "Pad",
       .inputs = {Float32({2})},
       .attributes = {{"paddings", AttributeValue::List{{-1, 1}}}},
       .error = "padding -1 of dimension 0 is negative"},
      {.name = "PadByFarTooMuch",
       .op = "Pad",
       .inputs = {Float32({2})},
       .attributes = {{"paddings",
                       AttributeValue::List{
                           {int64_t{1}, std::numeric_limits<int64_t>::max()}}}},
       .error = "too large"},
      {.name = "PadOfIntegersWithValue",
       .op = "Pad",
       .inputs = {Int32({2})},
       .attributes = {{"paddings", AttributeValue::List{{1, 1}}}, {"value", 3}},
       .error = "attribute 'value' must be 0"},
      {.name = "SliceBeyondTheEnd",
       .op = "Slice",
       .inputs = {Float32({4, 5})},
       .attributes = {{"begin", {0, 3}}, {"size", {4, 3}}},
       .error = "3 elements from 3 do not lie in dimension 1"},
      {.name = "SliceFromOutside",
       .op = "Slice",
       .inputs = {Float32({4})},
       .attributes = {{"begin", std::vector<int64_t>{4}},
                      {"size", std::vector<int64_t>{-1}}},
       .error = "do not lie in dimension 0"},
      {.name = "SliceOfTooFewDimensions",
       .op = "Slice",
       .inputs = {Float32({4, 5})},
       .attributes = {{"begin", {0, 0}}, {"size", std::vector<int64_t>{1}}},
       .error = "attribute 'size' has 1 items"},
      {.name = "TransposeTwiceTheSame",
       .op = "Transpose",
       .inputs = {Float32({4, 5})},
       .attributes = {{"perm", {0, 0}}},
       .error = "must order the 2 dimensions of x; it is [0, 0]"},
      {.name = "TransposeOfTooManyDimensions",
       .op = "Transpose",
       .inputs = {Float32({4})},
       .attributes = {{"perm", {0, 1}}},
       .error = "must order the 1 dimension of x"},
  };
}

}  // namespace

OpCases LayoutCases() { return {.good = GoodLayouts(), .bad = BadLayouts()}; }

}  // namespace spillway::testing
