// Sum, Mean, SumGrad, MeanGrad; Max, Min, Prod.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"
#include "tests/ops/cases/multi_index.h"

namespace spillway::testing {
namespace {

struct Reduced {
  std::string name;
  Shape x;
  std::vector<int64_t> axes;
  Shape y;
  bool keep_dims = false;
};

// The index in y (without kept dimensions) of an element of x.
size_t PlaceInY(const Reduced& r, const Index& index) {
  std::vector<int64_t> dims;
  Index kept;
  for (int axis = 0; axis < r.x.rank(); ++axis) {
    if (std::ranges::count(r.axes, axis) > 0) continue;
    if (std::ranges::count(r.axes, axis - r.x.rank()) > 0) continue;
    dims.push_back(r.x.dim(axis));
    kept.push_back(index[static_cast<size_t>(axis)]);
  }
  return Flat(Shape(dims), kept);
}

OpCase Reduce(const std::string& op, const Reduced& r) {
  const double terms = op == "Sum"
                           ? 1
                           : static_cast<double>(r.x.num_elements()) /
                                 static_cast<double>(r.y.num_elements());
  return {.name = op + r.name,
          .op = op,
          .inputs = {{.type = Float32(r.x)}},
          .attributes = {{"axes", r.axes}, {"keep_dims", r.keep_dims}},
          .outputs = {Float32(r.y)},
          .reference =
              [r, terms](const DoublesList& in) {
                Doubles y(static_cast<size_t>(r.y.num_elements()), 0);
                for (const Index& index : AllIndices(r.x)) {
                  y[PlaceInY(r, index)] += in[0][Flat(r.x, index)] / terms;
                }
                return DoublesList{y};
              },
          .tolerance = r.x.num_elements() < 1000 ? 1e-5 : 1e-4,
          .gradients =
              r.x.num_elements() < 1000 ? std::vector{0} : std::vector<int>{}};
}

OpCase ReduceGrad(const std::string& op, const Reduced& r) {
  const double terms = op == "Sum"
                           ? 1
                           : static_cast<double>(r.x.num_elements()) /
                                 static_cast<double>(r.y.num_elements());
  return {.name = op + "Grad" + r.name,
          .op = op + "Grad",
          .inputs = {{.type = Float32(r.y)}},
          .attributes = {{"axes", r.axes},
                         {"keep_dims", r.keep_dims},
                         {"input_shape", r.x}},
          .outputs = {Float32(r.x)},
          .reference = [r, terms](const DoublesList& in) {
            return DoublesList{FromIndices(r.x, [&](const Index& index) {
              return in[0][PlaceInY(r, index)] / terms;
            })};
          }};
}

using FoldFn = double (*)(double, double);

OpCase Fold(const std::string& op, FoldFn f, double first, const Reduced& r) {
  const bool is_small = r.x.num_elements() < 1000;
  return {.name = op + r.name,
          .op = op,
          .inputs = {{.type = Float32(r.x),
                      .fill = Fill::kDistinct,
                      .low = is_small ? -2.0 : -1.5,
                      .high = is_small ? 1.75 : 1.5}},
          .attributes = {{"axes", r.axes}, {"keep_dims", r.keep_dims}},
          .outputs = {Float32(r.y)},
          .reference =
              [=](const DoublesList& in) {
                Doubles y(static_cast<size_t>(r.y.num_elements()), first);
                for (const Index& index : AllIndices(r.x)) {
                  double& place = y[PlaceInY(r, index)];
                  place = f(place, in[0][Flat(r.x, index)]);
                }
                return DoublesList{y};
              },
          .gradients = is_small ? std::vector{0} : std::vector<int>{}};
}

double LargerOf(double a, double b) { return std::max(a, b); }
double SmallerOf(double a, double b) { return std::min(a, b); }
double Product(double a, double b) { return a * b; }

// Two equal largest elements, as central differences have them, in some rows.
OpCase MaxOfEqual() {
  OpCase op_case =
      Fold("Max", LargerOf, -1e9,
           {.name = "OfEqual", .x = {3, 4}, .axes = {1}, .y = {3}});
  op_case.inputs[0].fill = Fill::kValues;
  op_case.inputs[0].values = {1, 3, 2, 3, 5, 4, 4, 1, -1, -1, -2, -3};
  return op_case;
}

// No zero, one, and two in a row.
OpCase ProdOfZeros() {
  OpCase op_case =
      Fold("Prod", Product, 1,
           {.name = "OfZeros", .x = {3, 4}, .axes = {1}, .y = {3}});
  op_case.inputs[0].fill = Fill::kValues;
  op_case.inputs[0].values = {1, 3, 2, -0.5, 2, 0, 4, 3, 0, -1, -2, 0};
  return op_case;
}

std::vector<OpCase> FoldCases(const std::vector<Reduced>& shapes) {
  std::vector<OpCase> cases = {MaxOfEqual(), ProdOfZeros()};
  for (const Reduced& shape : shapes) {
    cases.push_back(Fold("Max", LargerOf, -1e9, shape));
    cases.push_back(Fold("Min", SmallerOf, 1e9, shape));
    // A product of more elements leaves float32's range.
    if (shape.x.num_elements() <= 400 * shape.y.num_elements() &&
        shape.x.num_elements() < 1000) {
      cases.push_back(Fold("Prod", Product, 1, shape));
    }
  }
  return cases;
}

std::vector<Reduced> Shapes() {
  return {
      {.name = "Spatial", .x = {2, 5, 7, 3}, .axes = {1, 2}, .y = {2, 3}},
      {.name = "SpatialKept",
       .x = {2, 5, 7, 3},
       .axes = {1, 2},
       .y = {2, 1, 1, 3},
       .keep_dims = true},
      {.name = "SpatialLarge",
       .x = {2, 41, 43, 20},
       .axes = {1, 2},
       .y = {2, 20}},
      {.name = "All", .x = {3, 4, 5}, .axes = {0, 1, 2}, .y = {}},
      {.name = "AllLarge", .x = {5, 30011}, .axes = {0, 1}, .y = {}},
      {.name = "Leading", .x = {6, 5, 4}, .axes = {0}, .y = {5, 4}},
      {.name = "Last", .x = {6, 5, 19}, .axes = {-1}, .y = {6, 5}},
      {.name = "LastLarge", .x = {3, 20011}, .axes = {1}, .y = {3}},
      {.name = "Alternating",
       .x = {3, 4, 5, 6, 7},
       .axes = {4, 0, 2},
       .y = {4, 6}},
      {.name = "AlternatingLarge",
       .x = {3, 130, 8, 33},
       .axes = {1, 3},
       .y = {3, 8}},
      {.name = "Nothing", .x = {3, 4}, .axes = {}, .y = {3, 4}},
      {.name = "Ones", .x = {3, 1, 4, 1}, .axes = {1, 3}, .y = {3, 4}},
      {.name = "Scalar", .x = {}, .axes = {}, .y = {}},
  };
}

std::vector<BadOp> BadReductions() {
  return {
      {.name = "SumWithoutAxes",
       .op = "Sum",
       .inputs = {Float32({2})},
       .error = "attribute 'axes' is missing"},
      {.name = "SumOverMissingAxis",
       .op = "Sum",
       .inputs = {Float32({2, 3})},
       .attributes = {{"axes", {2}}},
       .error = "axis 2 does not exist in a tensor of 2 dimensions"},
      {.name = "MeanOverOneAxisTwice",
       .op = "Mean",
       .inputs = {Float32({2, 3})},
       .attributes = {{"axes", {1, -1}}},
       .error = "names dimension 1 twice"},
      {.name = "MeanOfIntegers",
       .op = "Mean",
       .inputs = {Int32({2})},
       .attributes = {{"axes", {0}}},
       .error = "x must be float32"},
      {.name = "MaxOfIntegers",
       .op = "Max",
       .inputs = {Int32({2})},
       .attributes = {{"axes", {0}}},
       .error = "x must be float32"},
      {.name = "MinWithoutAxes",
       .op = "Min",
       .inputs = {Float32({2})},
       .error = "attribute 'axes' is missing"},
      {.name = "ProdOverMissingAxis",
       .op = "Prod",
       .inputs = {Float32({2, 3})},
       .attributes = {{"axes", {-3}}},
       .error = "does not exist in a tensor of 2 dimensions"},
      {.name = "SumGradOfAnotherShape",
       .op = "SumGrad",
       .inputs = {Float32({2})},
       .attributes = {{"axes", {0}}, {"input_shape", {2, 3}}},
       .error = "dy must be float32[3], as the reduced x; it is float32[2]"},
      {.name = "MeanGradWithoutShape",
       .op = "MeanGrad",
       .inputs = {Float32({})},
       .attributes = {{"axes", {0}}},
       .error = "attribute 'input_shape' is missing"},
  };
}

}  // namespace

OpCases ReduceCases() {
  std::vector<OpCase> good;
  for (const std::string op : {"Sum", "Mean"}) {
    for (const Reduced& r : Shapes()) {
      good.push_back(Reduce(op, r));
      good.push_back(ReduceGrad(op, r));
      good.push_back(InBFloat16(Reduce(op, r)));
      good.push_back(InBFloat16(ReduceGrad(op, r)));
    }
  }
  const std::vector<OpCase> folds = FoldCases(Shapes());
  for (const OpCase& op_case : folds) good.push_back(op_case);
  for (const OpCase& op_case : AllInBFloat16(folds)) good.push_back(op_case);
  return {.good = good, .bad = BadReductions()};
}

}  // namespace spillway::testing
