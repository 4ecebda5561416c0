// The memory manager by hand: orders of eviction, locks, copies, the cache of
// released blocks, and the error if the device is too small.
#include "tuner/policies/gpu_memory_manager.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;

// Objects A, B and C of 10, 20 and 30 bytes, in a device of 60. B lies below C,
// C below A. They are clean and were released in the order C, A, B.
class Blocks {
 public:
  explicit Blocks(EvictionPolicy policy)
      : manager({.policy = policy, .device_bytes = 60, .util_factor = 1}) {
    for (const int64_t bytes : {10, 20, 30}) manager.AddObject(bytes, true);
    for (const int32_t object : {kB, kC, kA}) Lock(object);
    for (const int32_t object : {kC, kA, kB}) Release(object);
  }

  void Lock(int32_t object) { EXPECT_THAT(manager.LockToRead(object), IsOk()); }
  void Release(int32_t object) { EXPECT_THAT(manager.Release(object), IsOk()); }

  // "CA" if a new object of these bytes evicts C, then A.
  std::string EvictedFor(int64_t bytes) {
    EXPECT_THAT(manager.LockToWrite(manager.AddObject(bytes, false)), IsOk());
    std::string names;
    for (const Eviction& eviction : manager.evictions()) {
      names += static_cast<char>('A' + eviction.storage);
    }
    return names;
  }

  static constexpr int32_t kA = 0;
  static constexpr int32_t kB = 1;
  static constexpr int32_t kC = 2;
  GpuMemoryManager manager;
};

TEST(GpuMemoryManagerTest, FirstTakesTheSmallestObjectThatSuffices) {
  for (const EvictionPolicy policy :
       {EvictionPolicy::kLru, EvictionPolicy::kMru, EvictionPolicy::kLfu,
        EvictionPolicy::kMinEvict, EvictionPolicy::kAlignMemory}) {
    EXPECT_EQ(Blocks(policy).EvictedFor(15), "B");
    EXPECT_EQ(Blocks(policy).EvictedFor(10), "A");
    EXPECT_EQ(Blocks(policy).EvictedFor(21), "C");
  }
}

// C and A are neighbours, so their 40 bytes suffice.
TEST(GpuMemoryManagerTest, EvictsByThePolicyUntilTheBytesSuffice) {
  EXPECT_EQ(Blocks(EvictionPolicy::kLru).EvictedFor(35), "CA");
  EXPECT_EQ(Blocks(EvictionPolicy::kMru).EvictedFor(35), "BAC");
}

// 60 bytes need all of the device.
TEST(GpuMemoryManagerTest, HasTheOrderOfEachPolicy) {
  EXPECT_EQ(Blocks(EvictionPolicy::kLru).EvictedFor(60), "CAB");
  EXPECT_EQ(Blocks(EvictionPolicy::kMru).EvictedFor(60), "BAC");
  EXPECT_EQ(Blocks(EvictionPolicy::kMinEvict).EvictedFor(60), "CBA");
  EXPECT_EQ(Blocks(EvictionPolicy::kAlignMemory).EvictedFor(60), "ACB");
}

// A is released 3 times, C twice, B once.
TEST(GpuMemoryManagerTest, LfuEvictsTheLeastReleasedFirst) {
  Blocks blocks(EvictionPolicy::kLfu);
  for (const int32_t object : {Blocks::kA, Blocks::kC, Blocks::kA}) {
    blocks.Lock(object);
    blocks.Release(object);
  }
  EXPECT_EQ(blocks.EvictedFor(60), "BCA");
}

TEST(GpuMemoryManagerTest, BeladyEvictsTheFarthestNextUseOnly) {
  Blocks blocks(EvictionPolicy::kBelady);
  blocks.manager.SetNextUse(Blocks::kA, 5);
  blocks.manager.SetNextUse(Blocks::kB, 9);
  blocks.manager.SetNextUse(Blocks::kC, 7);
  // Not the smallest that suffices, which is A.
  EXPECT_EQ(blocks.EvictedFor(10), "B");
}

// Equal keys: the first added.
TEST(GpuMemoryManagerTest, TiesGoToTheObjectThatWasAddedFirst) {
  GpuMemoryManager manager(
      {.policy = EvictionPolicy::kLfu, .device_bytes = 20, .util_factor = 1});
  for (int i = 0; i < 2; ++i) {
    const int32_t object = manager.AddObject(10, true);
    ASSERT_THAT(manager.LockToRead(object), IsOk());
    ASSERT_THAT(manager.Release(object), IsOk());
  }
  ASSERT_THAT(manager.LockToRead(manager.AddObject(10, true)), IsOk());
  EXPECT_THAT(manager.evictions(),
              ElementsAre(Eviction{.storage = 0, .bytes = 10}));
}

TEST(GpuMemoryManagerTest, LockedObjectsStayAndTheErrorHasATable) {
  Blocks blocks(EvictionPolicy::kLru);
  blocks.Lock(Blocks::kC);
  const int32_t large = blocks.manager.AddObject(35, false);
  const absl::Status status = blocks.manager.LockToWrite(large);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(status.message(),
            "There is not enough memory on device for this matrix, requested = "
            "35 bytes\n"
            "Unlocked dirty       0               0\n"
            "Unlocked clean       0               0\n"
            "Locked               1              30\n"
            "Cached free          0               0\n"
            "Non-tensor           0               0\n"
            "All pointers         1              30\n"
            "Free                 1              30\n"
            "Total                1              60\n");
  EXPECT_TRUE(blocks.manager.is_on_device(Blocks::kC));
}

TEST(GpuMemoryManagerTest, AReadLockAndAWriteLockExcludeEachOther) {
  Blocks blocks(EvictionPolicy::kLru);
  blocks.Lock(Blocks::kA);
  blocks.Lock(Blocks::kA);  // read locks are counted
  EXPECT_TRUE(absl::IsInternal(blocks.manager.LockToWrite(Blocks::kA)));
  blocks.Release(Blocks::kA);
  EXPECT_TRUE(absl::IsInternal(blocks.manager.LockToWrite(Blocks::kA)));
  blocks.Release(Blocks::kA);
  EXPECT_TRUE(absl::IsInternal(blocks.manager.Release(Blocks::kA)));
  EXPECT_THAT(blocks.manager.LockToWrite(Blocks::kA), IsOk());
  EXPECT_TRUE(absl::IsInternal(blocks.manager.LockToRead(Blocks::kA)));
}

TEST(GpuMemoryManagerTest, OnlyDirtyObjectsAreCopied) {
  Blocks blocks(EvictionPolicy::kLru);
  ASSERT_THAT(blocks.manager.LockToWrite(Blocks::kC), IsOk());
  blocks.Release(Blocks::kC);  // now the newest
  EXPECT_EQ(blocks.EvictedFor(60), "ABC");
  EXPECT_FALSE(blocks.manager.evictions()[0].is_copied);
  EXPECT_FALSE(blocks.manager.evictions()[1].is_copied);
  EXPECT_TRUE(blocks.manager.evictions()[2].is_copied);
  // The three were on the host at first; the new object was not.
  EXPECT_THAT(blocks.manager.loaded_bytes(), ElementsAre(20, 30, 10));
}

TEST(GpuMemoryManagerTest, AnEvictedObjectComesBackClean) {
  GpuMemoryManager manager({.device_bytes = 10, .util_factor = 1});
  const int32_t a = manager.AddObject(10, false);
  const int32_t b = manager.AddObject(10, false);
  EXPECT_TRUE(absl::IsInternal(manager.LockToRead(a)));  // has no bytes
  for (const int32_t object : {a, b}) {
    ASSERT_THAT(manager.LockToWrite(object), IsOk());
    ASSERT_THAT(manager.Release(object), IsOk());
  }
  for (const int32_t object : {a, b}) {
    ASSERT_THAT(manager.LockToRead(object), IsOk());
    ASSERT_THAT(manager.Release(object), IsOk());
  }
  EXPECT_THAT(manager.evictions(),
              ElementsAre(Eviction{a, 10, true}, Eviction{b, 10, true},
                          Eviction{a, 10, false}));
  EXPECT_THAT(manager.loaded_bytes(), ElementsAre(10, 10));
}

// Step 1 takes the block of the exact size, step 3 a larger one.
TEST(GpuMemoryManagerTest, ReleasedBlocksAreUsedBeforeObjectsAreEvicted) {
  Blocks blocks(EvictionPolicy::kLru);
  blocks.manager.Free(Blocks::kB);
  blocks.manager.Free(Blocks::kC);
  EXPECT_EQ(blocks.manager.available(), 0);
  EXPECT_EQ(blocks.EvictedFor(20), "");
  EXPECT_EQ(blocks.manager.available(), 0);
  EXPECT_EQ(blocks.EvictedFor(12), "");
  EXPECT_EQ(blocks.manager.available(), 18);
  EXPECT_TRUE(blocks.manager.is_on_device(Blocks::kA));
}

// Step 4: 20 + 30 bytes are neighbours.
TEST(GpuMemoryManagerTest, AllReleasedBlocksAreGivenBackTogether) {
  Blocks blocks(EvictionPolicy::kLru);
  blocks.manager.Free(Blocks::kB);
  blocks.manager.Free(Blocks::kC);
  EXPECT_EQ(blocks.EvictedFor(45), "");
  EXPECT_TRUE(blocks.manager.is_on_device(Blocks::kA));
}

TEST(GpuMemoryManagerTest, TakesAFractionOfTheFreeBytes) {
  GpuMemoryManager manager({.device_bytes = 110, .non_tensor_bytes = 10});
  EXPECT_EQ(manager.available(), 90);
  ASSERT_THAT(manager.LockToWrite(manager.AddObject(50, false)), IsOk());
  EXPECT_EQ(manager.available(), 45);
  EXPECT_EQ(manager.peak_bytes(), 50);
  EXPECT_THAT(manager.evictions(), IsEmpty());
  EXPECT_THAT(manager.MemoryTable(), HasSubstr("Non-tensor           1"));
}

}  // namespace
}  // namespace spillway
