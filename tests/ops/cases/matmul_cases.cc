// MatMul and BatchMatMul.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"

namespace spillway::testing {
namespace {

struct Product {
  std::string name;
  int64_t m = 1;
  int64_t k = 1;
  int64_t n = 1;
  bool transpose_a = false;
  bool transpose_b = false;
};

Doubles Multiply(const Product& p, const Doubles& a, const Doubles& b) {
  Doubles y;
  for (int64_t row = 0; row < p.m; ++row) {
    for (int64_t column = 0; column < p.n; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        const int64_t at_a = p.transpose_a ? k * p.m + row : row * p.k + k;
        const int64_t at_b =
            p.transpose_b ? column * p.k + k : k * p.n + column;
        sum += a[static_cast<size_t>(at_a)] * b[static_cast<size_t>(at_b)];
      }
      y.push_back(sum);
    }
  }
  return y;
}

OpCase MatMulCase(const Product& p) {
  const Shape a = p.transpose_a ? Shape{p.k, p.m} : Shape{p.m, p.k};
  const Shape b = p.transpose_b ? Shape{p.n, p.k} : Shape{p.k, p.n};
  const double products = static_cast<double>(p.m * p.n * p.k);
  return {.name = "MatMul" + p.name,
          .op = "MatMul",
          .inputs = {{.type = Float32(a)}, {.type = Float32(b)}},
          .attributes = {{"transpose_a", p.transpose_a},
                         {"transpose_b", p.transpose_b}},
          .outputs = {Float32({p.m, p.n})},
          .reference =
              [p](const DoublesList& in) {
                return DoublesList{Multiply(p, in[0], in[1])};
              },
          .tolerance = 1e-4,
          .gradients = products < 1000 ? std::vector{0, 1} : std::vector<int>{},
          .flops = 2 * products,
          .same_bits_for_any_threads = false};
}

// Matrices of a batch; an operand with `batch` of 1 is multiplied with each.
struct BatchProduct {
  Product product = {};
  Shape batch_a = {};
  Shape batch_b = {};
  Shape batch_y = {};
};

Shape WithBatch(const Shape& batch, int64_t rows, int64_t columns) {
  std::vector<int64_t> dims = batch.dims();
  dims.push_back(rows);
  dims.push_back(columns);
  return Shape(dims);
}

// Matrix `number` of a tensor of matrices; the only one if there is one.
Doubles MatrixOf(const Doubles& x, int64_t elements, int64_t number) {
  const int64_t at =
      static_cast<int64_t>(x.size()) == elements ? 0 : number * elements;
  return {x.begin() + at, x.begin() + at + elements};
}

OpCase BatchCase(const BatchProduct& spec) {
  const Product& p = spec.product;
  OpCase op_case = MatMulCase(p);
  op_case.name = "BatchMatMul" + p.name;
  op_case.op = "BatchMatMul";
  const Shape a = op_case.inputs[0].type.shape;
  const Shape b = op_case.inputs[1].type.shape;
  op_case.inputs[0].type.shape = WithBatch(spec.batch_a, a.dim(0), a.dim(1));
  op_case.inputs[1].type.shape = WithBatch(spec.batch_b, b.dim(0), b.dim(1));
  op_case.outputs = {Float32(WithBatch(spec.batch_y, p.m, p.n))};
  const int64_t matrices = spec.batch_y.num_elements();
  op_case.reference = [=](const DoublesList& in) {
    Doubles y;
    for (int64_t i = 0; i < matrices; ++i) {
      const Doubles product = Multiply(p, MatrixOf(in[0], p.m * p.k, i),
                                       MatrixOf(in[1], p.k * p.n, i));
      y.insert(y.end(), product.begin(), product.end());
    }
    return DoublesList{y};
  };
  op_case.gradients = {0, 1};
  op_case.flops = static_cast<double>(2 * p.m * p.n * p.k * matrices);
  return op_case;
}

std::vector<OpCase> BatchCases() {
  return {
      BatchCase({{"", 3, 4, 5}, {2, 3}, {2, 3}, {2, 3}}),
      BatchCase({{"ATransposed", 3, 4, 5, true, false}, {6}, {6}, {6}}),
      BatchCase({{"BTransposed", 3, 4, 5, false, true}, {6}, {6}, {6}}),
      BatchCase({{"BothTransposed", 3, 4, 5, true, true}, {2}, {2}, {2}}),
      BatchCase({{"OneOnTheLeft", 3, 4, 5}, {}, {2, 2}, {2, 2}}),
      BatchCase({{"OneOnTheRight", 3, 4, 5}, {2, 2}, {1}, {2, 2}}),
      BatchCase({{"OfOne", 2, 3, 2}, {1, 1}, {1, 1}, {1, 1}}),
      BatchCase({{"OfMatrices", 2, 3, 2}, {}, {}, {}}),
  };
}

// `one` with a bias of `dtype`, and optionally a ReLU, applied to the sum of
// its reference.
OpCase BiasCase(const OpCase& one, int64_t n, DType dtype, bool has_relu) {
  OpCase biased = one;
  biased.name += has_relu ? "BiasRelu" : "Bias";
  CaseInput bias = one.inputs[1];
  bias.type = {.dtype = dtype, .shape = {n}};
  biased.inputs.push_back(bias);
  if (has_relu) biased.attributes.Set("activation", "relu");
  biased.reference = [=](const DoublesList& in) {
    Doubles y = one.reference({in[0], in[1]})[0];
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] += in[2][i % static_cast<size_t>(n)];
      if (has_relu && y[i] < 0) y[i] = 0;
    }
    return DoublesList{y};
  };
  if (!one.gradients.empty()) biased.gradients.push_back(2);
  *biased.flops += static_cast<double>(one.outputs[0].num_elements());
  return biased;
}

// Operands are small integers, which bfloat16 represents exactly, as are their
// products; float32 sums them exactly.
OpCase MixedCase(const Product& p, DType a, DType b, DType y) {
  OpCase mixed = MatMulCase(p);
  mixed.inputs[0] = {.type = mixed.inputs[0].type,
                     .fill = Fill::kIntegers,
                     .low = -8,
                     .high = 9};
  mixed.inputs[1] = mixed.inputs[0];
  mixed.inputs[1].type.shape =
      p.transpose_b ? Shape{p.n, p.k} : Shape{p.k, p.n};
  mixed.inputs[0].type.dtype = a;
  mixed.inputs[1].type.dtype = b;
  mixed.outputs[0].dtype = y;
  mixed.attributes.Set("dtype", y);
  mixed.tolerance = y == DType::kBFloat16 ? 0x1p-8 : 0;
  mixed.gradient_tolerance = 0x1p-3;
  mixed.needs_avx512 = true;
  return mixed;
}

// Each of a, b and y in float32 and bfloat16, except all in float32.
std::vector<OpCase> BFloat16Cases() {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kBFloat16};
  std::vector<OpCase> cases;
  for (int i = 1; i < 32; ++i) {
    const int dtypes = i % 8;
    if (dtypes == 0) continue;
    const bool ta = (i & 8) != 0;
    const bool tb = (i & 16) != 0;
    for (const bool is_large : {false, true}) {
      Product p = {fmt::format("BFloat16Case{}{}", i, is_large ? "Large" : ""),
                   5,
                   7,
                   3,
                   ta,
                   tb};
      if (is_large) p.m = 65, p.k = 130, p.n = 97;
      cases.push_back(MixedCase(p, kDTypes[dtypes & 1],
                                kDTypes[dtypes >> 1 & 1],
                                kDTypes[dtypes >> 2]));
    }
  }
  return cases;
}

std::vector<OpCase> BiasCases() {
  std::vector<OpCase> cases;
  for (const bool has_relu : {false, true}) {
    for (const bool tb : {false, true}) {
      const Product small = {tb ? "TSmall" : "Small", 5, 7, 3, false, tb};
      const Product large = {tb ? "TLarge" : "Large", 65, 130, 97, tb, tb};
      const Product row = {tb ? "TRow" : "Row", 1, 40, 33, false, tb};
      for (const Product& p : {small, large, row}) {
        cases.push_back(
            BiasCase(MatMulCase(p), p.n, DType::kFloat32, has_relu));
      }
    }
    const Product p = {"BFloat16", 5, 7, 3};
    const DType b16 = DType::kBFloat16;
    const DType f32 = DType::kFloat32;
    cases.push_back(BiasCase(MixedCase(p, b16, f32, b16), p.n, f32, has_relu));
    const Product same = {"BFloat16Only", 5, 7, 3};
    cases.push_back(
        BiasCase(MixedCase(same, b16, b16, b16), p.n, b16, has_relu));
    const Product wide = {"BFloat16ToFloat32", 65, 130, 97};
    cases.push_back(
        BiasCase(MixedCase(wide, b16, b16, f32), wide.n, f32, has_relu));
  }
  OpCase relu = MatMulCase({"Relu", 5, 7, 3});
  relu.attributes.Set("activation", "relu");
  relu.reference = [product = relu.reference](const DoublesList& in) {
    DoublesList y = product(in);
    for (double& x : y[0]) x = x < 0 ? 0 : x;
    return y;
  };
  cases.push_back(relu);
  return cases;
}

}  // namespace

OpCases MatMulCases() {
  OpCases cases = {.good = BFloat16Cases()};
  for (const OpCase& op_case : BiasCases()) cases.good.push_back(op_case);
  for (const OpCase& op_case : BatchCases()) cases.good.push_back(op_case);
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const std::string name =
          std::string(ta ? "T" : "N") + std::string(tb ? "T" : "N");
      cases.good.push_back(MatMulCase({name + "Small", 5, 7, 3, ta, tb}));
      cases.good.push_back(MatMulCase({name + "Large", 65, 130, 97, ta, tb}));
      cases.good.push_back(MatMulCase({name + "Row", 1, 40, 33, ta, tb}));
      cases.good.push_back(MatMulCase({name + "Outer", 31, 1, 17, ta, tb}));
    }
  }
  cases.bad = {
      {.name = "BatchMatMulOfOtherBatch",
       .op = "BatchMatMul",
       .inputs = {Float32({2, 3, 4}), Float32({3, 4, 5})},
       .error = "a and b are no matrices, or batches of them"},
      {.name = "BatchMatMulOfOtherRows",
       .op = "BatchMatMul",
       .inputs = {Float32({2, 3, 4}), Float32({2, 5, 5})},
       .error = "a is float32[2, 3, 4], b is float32[2, 5, 5]"},
      {.name = "BatchMatMulOfVector",
       .op = "BatchMatMul",
       .inputs = {Float32({4}), Float32({4, 5})},
       .error = "a must have 2 dimensions"},
      {.name = "MatMulOfRank3",
       .op = "MatMul",
       .inputs = {Float32({2, 3, 4}), Float32({4, 5})},
       .error = "a must have 2 dimensions"},
      {.name = "MatMulOfOtherRows",
       .op = "MatMul",
       .inputs = {Float32({2, 3}), Float32({4, 5})},
       .error = "a has 3 columns and b 4 rows; a is float32[2, 3], b is"},
      {.name = "MatMulOfOtherRowsTransposed",
       .op = "MatMul",
       .inputs = {Float32({3, 2}), Float32({4, 3})},
       .attributes = {{"transpose_a", true}},
       .error = "a has 3 columns and b 4 rows (as transposed)"},
      {.name = "MatMulOfTwoShortTypes",
       .op = "MatMul",
       .inputs = {BFloat16s({2, 3}),
                  {.dtype = DType::kFloat16, .shape = {3, 5}}},
       .error = "b must be bfloat16 or float32, as a is bfloat16[2, 3]; it is "
                "float16[3, 5]"},
      {.name = "MatMulWithABiasOfOtherSize",
       .op = "MatMul",
       .inputs = {Float32({2, 3}), Float32({3, 5}), Float32({2})},
       .error = "bias must be float32[5], as the columns of y; it is "
                "float32[2]"},
      {.name = "MatMulWithABiasShorterThanY",
       .op = "MatMul",
       .inputs = {BFloat16s({2, 3}), Float32({3, 5}), BFloat16s({5})},
       .attributes = {{"dtype", DType::kFloat32}},
       .error = "bias must be float32[5], as the columns of y; it is "
                "bfloat16[5]"},
      {.name = "MatMulWithTanh",
       .op = "MatMul",
       .inputs = {Float32({2, 3}), Float32({3, 5})},
       .attributes = {{"activation", "tanh"}},
       .error = "activation"},
      {.name = "MatMulToIntegers",
       .op = "MatMul",
       .inputs = {BFloat16s({2, 3}), Float32({3, 5})},
       .attributes = {{"dtype", DType::kInt32}},
       .error = "y must be float32, bfloat16 or float16; it is int32[2, 5]"},
      {.name = "MatMulOfIntegers",
       .op = "MatMul",
       .inputs = {Int32({2, 3}), Int32({3, 5})},
       .error = "a must be float32"},
  };
  return cases;
}

}  // namespace spillway::testing
