#include "lms/tflms/counted_memory.h"

#include "gmock/gmock.h"

namespace spillway {
namespace {

TEST(CountedMemoryTest, BuffersWithoutReadersLeaveAtTheNextRelease) {
  CountedMemory memory(2);
  EXPECT_FALSE(memory.IsResident(0));
  memory.Allocate(0, 100, 2);
  memory.Allocate(1, 30, 1);
  memory.Decrease(0);
  memory.Decrease(1);
  EXPECT_TRUE(memory.IsResident(1));
  EXPECT_EQ(memory.used_bytes(), 130);
  memory.Release();
  EXPECT_TRUE(memory.IsResident(0));
  EXPECT_FALSE(memory.IsResident(1));
  EXPECT_EQ(memory.used_bytes(), 100);
  EXPECT_EQ(memory.peak_bytes(), 130);
}

TEST(CountedMemoryTest, ACountMayRiseAgainBeforeTheRelease) {
  CountedMemory memory(1);
  memory.Allocate(0, 100, 1);
  memory.Decrease(0);
  memory.Increase(0);
  memory.Release();
  EXPECT_TRUE(memory.IsResident(0));
  memory.Decrease(0, 5);
  EXPECT_EQ(memory.count(0), 0);
  memory.Decrease(0);
  memory.Release();
  EXPECT_EQ(memory.used_bytes(), 0);
}

TEST(CountedMemoryTest, ABufferMayComeBack) {
  CountedMemory memory(0);
  const size_t buffer = memory.AddBuffer();
  for (int i = 0; i < 3; ++i) {
    memory.Allocate(buffer, 10, 1);
    memory.Decrease(buffer);
    memory.Release();
    EXPECT_FALSE(memory.IsResident(buffer));
  }
  EXPECT_EQ(memory.used_bytes(), 0);
  EXPECT_EQ(memory.peak_bytes(), 10);
}

}  // namespace
}  // namespace spillway
