#include "simulator/link_direction.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

const std::vector<CopyTime> kTable = {
    {.bytes = 1000, .alone_ns = 500, .shared_ns = 600},
    {.bytes = 2000, .alone_ns = 700, .shared_ns = 1600},
    {.bytes = 10000, .alone_ns = 2700, .shared_ns = 5000}};

double AloneNs(int64_t bytes) {
  return CopyNsBySize(kTable, bytes, &CopyTime::alone_ns);
}

TEST(LinkDirectionTest, SizesOfTheTableTakeItsTimes) {
  for (const CopyTime& time : kTable) {
    EXPECT_EQ(AloneNs(time.bytes), time.alone_ns);
    EXPECT_EQ(CopyNsBySize(kTable, time.bytes, &CopyTime::shared_ns),
              time.shared_ns);
  }
}

TEST(LinkDirectionTest, BetweenTwoSizesTheTimeIsOnTheLine) {
  EXPECT_EQ(AloneNs(1500), 600);
  EXPECT_EQ(AloneNs(2004), 701);  // 8000 bytes in 2000 ns
  EXPECT_EQ(CopyNsBySize(kTable, 1250, &CopyTime::shared_ns), 850);
}

TEST(LinkDirectionTest, OutsideTheTableItsEndsCount) {
  EXPECT_EQ(AloneNs(0), 500);
  EXPECT_EQ(AloneNs(999), 500);
  EXPECT_EQ(AloneNs(30000), 3 * 2700);  // at the rate of the last
  EXPECT_EQ(CopyNsBySize({kTable[0]}, 4000, &CopyTime::shared_ns), 2400);
}

TEST(LinkDirectionTest, ALimitIsNeverFaster) {
  const LinkDirection direction = {.latency_ns = 10,
                                   .bytes_per_second = 4e9,
                                   .shared_bytes_per_second = 3e9,
                                   .by_size = kTable};
  const LinkDirection limited = LimitRate(direction, 3.5e9, 50);
  EXPECT_EQ(limited.latency_ns, 50);
  EXPECT_EQ(limited.bytes_per_second, 3.5e9);
  EXPECT_EQ(limited.shared_bytes_per_second, 3e9);
  // At 3.5 bytes per nanosecond: 286, 571 and 2857 ns, plus 50.
  EXPECT_EQ(limited.by_size[0], kTable[0]);
  EXPECT_EQ(limited.by_size[1], kTable[1]);
  EXPECT_EQ(limited.by_size[2],
            (CopyTime{.bytes = 10000, .alone_ns = 2907, .shared_ns = 5000}));
}

TEST(LinkDirectionTest, ALimitThatWasMeasuredChangesNothing) {
  const LinkDirection paced = {
      .latency_ns = 1050,
      .bytes_per_second = 1e9,
      .shared_bytes_per_second = 1e9,
      .by_size = {{.bytes = 1000, .alone_ns = 1050, .shared_ns = 1060}}};
  EXPECT_EQ(LimitRate(paced, 1e9, 50), paced);
}

}  // namespace
}  // namespace spillway
