#include "tuner/bound/covering_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr int64_t kAnyCoverNs = std::numeric_limits<int64_t>::max();

// The linear program of the header: every vertex of the polyhedron, which is
// where as many constraints as there are items hold with equality.
class NaiveCovering {
 public:
  NaiveCovering(const std::vector<RemakeItem>& items,
                const std::vector<CoverRow>& rows)
      : items_(items) {
    for (const CoverRow& row : rows) {
      std::vector<double> line(items.size() + 1, 0);
      for (const int32_t item : row.items) {
        const auto i = static_cast<size_t>(item);
        line[i] =
            static_cast<double>(std::min(items[i].bytes, row.missing_bytes));
      }
      line.back() = static_cast<double>(row.missing_bytes);
      at_least_.push_back(line);
    }
    for (size_t i = 0; i < items.size(); ++i) {
      std::vector<double> line(items.size() + 1, 0);
      line[i] = 1;
      at_least_.push_back(line);  // r >= 0
      line[i] = -1;
      line.back() = -1;
      at_least_.push_back(line);  // r <= 1
    }
  }

  // nullopt: no solution.
  std::optional<double> LeastNs() {
    Choose(0, {});
    return least_;
  }

  // Whole items only.
  std::optional<int64_t> LeastWholeNs() const {
    std::optional<int64_t> least;
    for (uint32_t choice = 0; choice < 1U << items_.size(); ++choice) {
      std::vector<double> r(items_.size());
      int64_t ns = 0;
      for (size_t i = 0; i < r.size(); ++i) {
        r[i] = choice >> i & 1U;
        if (r[i] > 0) ns += items_[i].ns;
      }
      if (IsSolution(r)) least = std::min(least.value_or(kAnyCoverNs), ns);
    }
    return least;
  }

 private:
  void Choose(size_t from, const std::vector<size_t>& chosen) {
    if (chosen.size() == items_.size()) {
      TryVertex(chosen);
      return;
    }
    for (size_t i = from; i < at_least_.size(); ++i) {
      std::vector<size_t> more = chosen;
      more.push_back(i);
      Choose(i + 1, more);
    }
  }

  // Gaussian elimination.
  void TryVertex(const std::vector<size_t>& chosen) {
    const size_t n = items_.size();
    std::vector<std::vector<double>> lines;
    lines.reserve(n);
    for (const size_t i : chosen) lines.push_back(at_least_[i]);
    for (size_t column = 0; column < n; ++column) {
      const auto pivot =
          std::max_element(lines.begin() + static_cast<int64_t>(column),
                           lines.end(), [&](const auto& a, const auto& b) {
                             return std::abs(a[column]) < std::abs(b[column]);
                           });
      if (std::abs((*pivot)[column]) < 1e-9) return;
      std::swap(*pivot, lines[column]);
      for (size_t i = 0; i < n; ++i) {
        if (i == column) continue;
        const double factor = lines[i][column] / lines[column][column];
        for (size_t j = column; j <= n; ++j) {
          lines[i][j] -= factor * lines[column][j];
        }
      }
    }
    std::vector<double> r(n);
    double ns = 0;
    for (size_t i = 0; i < n; ++i) {
      r[i] = lines[i][n] / lines[i][i];
      ns += r[i] * static_cast<double>(items_[i].ns);
    }
    if (IsSolution(r)) least_ = std::min(least_.value_or(1e300), ns);
  }

  bool IsSolution(const std::vector<double>& r) const {
    return std::ranges::all_of(at_least_, [&](const auto& line) {
      double sum = 0;
      for (size_t i = 0; i < r.size(); ++i) sum += line[i] * r[i];
      return sum >= line.back() - 1e-6;
    });
  }

  const std::vector<RemakeItem>& items_;
  std::vector<std::vector<double>> at_least_;  // by constraint; right side last
  std::optional<double> least_;
};

TEST(CoveringBoundTest, OneRowIsAKnapsack) {
  // The first two whole, a half of the third: 1 + 6 + 10.
  const std::vector<RemakeItem> items = {
      {.bytes = 10, .ns = 6}, {.bytes = 10, .ns = 20}, {.bytes = 5, .ns = 1}};
  const std::vector<CoverRow> rows = {
      {.missing_bytes = 20, .items = {0, 1, 2}}};
  EXPECT_EQ(CoveringBound(items, rows, kAnyCoverNs).ns, 17);
}

TEST(CoveringBoundTest, AnItemPaysOnceForAllOfItsRows) {
  const std::vector<RemakeItem> items = {{.bytes = 10, .ns = 30}};
  const std::vector<CoverRow> rows = {{.missing_bytes = 10, .items = {0}},
                                      {.missing_bytes = 7, .items = {0}}};
  EXPECT_EQ(CoveringBound(items, rows, kAnyCoverNs).ns, 30);
}

TEST(CoveringBoundTest, RowsWithoutCommonItemsAddUp) {
  const std::vector<RemakeItem> items = {{.bytes = 10, .ns = 30},
                                         {.bytes = 10, .ns = 40}};
  const std::vector<CoverRow> rows = {{.missing_bytes = 10, .items = {0}},
                                      {.missing_bytes = 10, .items = {1}}};
  const Covering covering = CoveringBound(items, rows, kAnyCoverNs);
  EXPECT_EQ(covering.ns, 70);
  EXPECT_EQ(covering.row, 1);
}

TEST(CoveringBoundTest, ALargeItemCountsWhole) {
  // A tenth of it would suffice.
  const std::vector<RemakeItem> items = {{.bytes = 100, .ns = 50}};
  const std::vector<CoverRow> rows = {{.missing_bytes = 10, .items = {0}}};
  EXPECT_EQ(CoveringBound(items, rows, kAnyCoverNs).ns, 50);
}

TEST(CoveringBoundTest, ARowWithTooFewBytesIsImpossible) {
  const std::vector<RemakeItem> items = {{.bytes = 9, .ns = 50}};
  const std::vector<CoverRow> rows = {{.missing_bytes = 10, .items = {0}}};
  EXPECT_FALSE(CoveringBound(items, rows, kAnyCoverNs).is_possible);
}

TEST(CoveringBoundTest, NeverExceedsTheLinearProgramAndMostlyReachesIt) {
  const uint64_t seed = 20261124;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int solved = 0;
  int near = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<RemakeItem> items(1 + random() % 4);
    for (RemakeItem& item : items) {
      item.bytes = 1 + static_cast<int64_t>(random() % 50);
      item.ns = static_cast<int64_t>(random() % 1000);
    }
    std::vector<CoverRow> rows(1 + random() % 4);
    for (CoverRow& row : rows) {
      row.missing_bytes = 1 + static_cast<int64_t>(random() % 60);
      for (size_t i = 0; i < items.size(); ++i) {
        if (random() % 4 != 0) row.items.push_back(static_cast<int32_t>(i));
      }
    }
    NaiveCovering naive(items, rows);
    const std::optional<double> least = naive.LeastNs();
    const Covering covering = CoveringBound(items, rows, kAnyCoverNs);
    if (!least) continue;
    ASSERT_TRUE(covering.is_possible);
    // Both are rounded up.
    EXPECT_LE(static_cast<double>(covering.ns), std::ceil(*least - 1e-5));
    if (const auto whole = naive.LeastWholeNs()) {
      EXPECT_LE(covering.ns, *whole);
    }
    ++solved;
    near += static_cast<double>(covering.ns) >= 0.97 * *least ? 1 : 0;
  }
  RecordProperty("solved", solved);
  RecordProperty("near", near);
  EXPECT_GT(solved, 150);
  EXPECT_GT(near, solved * 3 / 4);
}

}  // namespace
}  // namespace spillway
