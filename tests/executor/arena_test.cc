#include "executor/arena.h"

#include <utility>

#include "executor/device/registry.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::StatusIs;

class ArenaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = NewDevice("inline", {.capacity_bytes = 4096}).value();
  }
  std::unique_ptr<Device> device_;
};

TEST_F(ArenaTest, IsOneAllocationOfExactlyItsBytes) {
  ASSERT_OK_AND_ASSIGN(const Arena arena,
                       Arena::Create(*device_, MemorySpace::kDevice, 4096));
  EXPECT_EQ(arena.num_bytes(), 4096);
  EXPECT_EQ(device_->allocations(), 1);
  EXPECT_EQ(device_->FreeBytes().value(), 0);
}

TEST_F(ArenaTest, OfZeroBytesAllocatesNothing) {
  ASSERT_OK_AND_ASSIGN(const Arena arena,
                       Arena::Create(*device_, MemorySpace::kDevice, 0));
  EXPECT_EQ(arena.num_bytes(), 0);
  EXPECT_EQ(arena.high_water_bytes(), 0);
  EXPECT_EQ(device_->allocations(), 0);
}

TEST_F(ArenaTest, PassesOnTheDevicesRefusal) {
  EXPECT_THAT(Arena::Create(*device_, MemorySpace::kDevice, 4097),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
}

TEST_F(ArenaTest, RemembersTheHighestByteHandedOut) {
  ASSERT_OK_AND_ASSIGN(Arena arena,
                       Arena::Create(*device_, MemorySpace::kDevice, 4096));
  const auto* base = static_cast<std::byte*>(arena.Use(0, 16));
  EXPECT_EQ(arena.high_water_bytes(), 16);
  EXPECT_EQ(arena.Use(1024, 100), base + 1024);
  EXPECT_EQ(arena.high_water_bytes(), 1124);
  EXPECT_EQ(arena.Use(512, 100), base + 512);
  EXPECT_EQ(arena.high_water_bytes(), 1124);
  arena.Use(4095, 1);
  EXPECT_EQ(arena.high_water_bytes(), 4096);
}

TEST_F(ArenaTest, BytesOutsideAreAProgrammingError) {
  ASSERT_OK_AND_ASSIGN(Arena arena,
                       Arena::Create(*device_, MemorySpace::kDevice, 4096));
  EXPECT_DEATH(arena.Use(4000, 97), "CHECK");
  EXPECT_DEATH(arena.Use(-256, 16), "CHECK");
}

}  // namespace
}  // namespace spillway
