#include "executor/session/orthogonal.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix Split(const std::vector<double>& rows, const OrthonormalSpec& spec) {
  Matrix matrix;
  for (int64_t k = 0; k < spec.count; ++k) {
    matrix.emplace_back(rows.begin() + k * spec.length,
                        rows.begin() + (k + 1) * spec.length);
  }
  return matrix;
}

double Product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The matrix that is made orthonormal.
Matrix Drawn(const OrthonormalSpec& spec) {
  std::vector<double> rows;
  for (uint64_t i = 0; i < static_cast<uint64_t>(spec.count * spec.length);
       ++i) {
    rows.push_back(
        spec.from_normal
            ? NormalAt(spec.key, i)
            : 2.0 * UniformFloat(Philox4x32(spec.key, i / 4)[i % 4]) - 1);
  }
  return Split(rows, spec);
}

// Gram and Schmidt's method, twice for each row.
Matrix GramSchmidt(Matrix rows) {
  for (size_t k = 0; k < rows.size(); ++k) {
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < k; ++j) {
        const double along = Product(rows[k], rows[j]);
        for (size_t i = 0; i < rows[k].size(); ++i) {
          rows[k][i] -= along * rows[j][i];
        }
      }
    }
    const double norm = std::sqrt(Product(rows[k], rows[k]));
    for (double& x : rows[k]) x /= norm;
  }
  return rows;
}

class Orthonormal : public ::testing::TestWithParam<OrthonormalSpec> {};

TEST_P(Orthonormal, HasRowsOfLengthOneAtRightAngles) {
  const Matrix rows = Split(OrthonormalRows(GetParam(), nullptr), GetParam());
  ASSERT_EQ(static_cast<int64_t>(rows.size()), GetParam().count);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) {
      EXPECT_NEAR(Product(rows[i], rows[j]), i == j ? 1 : 0, 1e-12)
          << i << " " << j;
    }
  }
}

TEST_P(Orthonormal, IsWhatGramAndSchmidtMake) {
  const Matrix rows = Split(OrthonormalRows(GetParam(), nullptr), GetParam());
  const Matrix expected = GramSchmidt(Drawn(GetParam()));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j) {
      EXPECT_NEAR(rows[i][j], expected[i][j], 1e-9) << i << " " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Orthonormal,
    ::testing::Values(
        OrthonormalSpec{.count = 1, .length = 1, .key = 1},
        OrthonormalSpec{.count = 1, .length = 9, .key = 2},
        OrthonormalSpec{.count = 2, .length = 2, .key = 3},
        OrthonormalSpec{.count = 16, .length = 40, .key = 4},
        OrthonormalSpec{.count = 17, .length = 17, .key = 5},
        OrthonormalSpec{
            .count = 50, .length = 75, .key = 6, .from_normal = true},
        OrthonormalSpec{
            .count = 64, .length = 64, .key = 7, .from_normal = true}),
    [](const auto& info) {
      return fmt::format("{}x{}{}", info.param.count, info.param.length,
                         info.param.from_normal ? "Normal" : "");
    });

// Large enough for several parts.
TEST(OrthonormalRows, AreTheSameOnAnyNumberOfThreads) {
  const OrthonormalSpec spec = {.count = 100, .length = 3000, .key = 8};
  const std::vector<double> alone = OrthonormalRows(spec, nullptr);
  for (const int threads : {1, 2, 5}) {
    HostThreads host_threads(threads);
    EXPECT_TRUE(OrthonormalRows(spec, &host_threads) == alone) << threads;
  }
}

TEST(OrthonormalRows, DependOnTheKey) {
  EXPECT_NE(OrthonormalRows({.count = 2, .length = 3, .key = 1}, nullptr),
            OrthonormalRows({.count = 2, .length = 3, .key = 2}, nullptr));
}

// Only additions, multiplications, divisions and square roots: the bytes are
// those of every machine.
TEST(OrthonormalRows, HaveTheseBytes) {
  const std::vector<double> rows =
      OrthonormalRows({.count = 20, .length = 33, .key = 17}, nullptr);
  std::string bytes(rows.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), rows.data(), bytes.size());
  EXPECT_EQ(HashName(bytes), 4311283452537958924U);
}

TEST(OrthonormalRows, OfNoneAreEmpty) {
  EXPECT_TRUE(OrthonormalRows({.count = 0, .length = 3}, nullptr).empty());
}

}  // namespace
}  // namespace spillway
