// MatMul.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/all_cases.h"

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

}  // namespace

OpCases MatMulCases() {
  OpCases cases;
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
      {.name = "MatMulOfIntegers",
       .op = "MatMul",
       .inputs = {Int32({2, 3}), Int32({3, 5})},
       .error = "a must be float32"},
  };
  return cases;
}

}  // namespace spillway::testing
