// Run-time policies on a step worked out by hand (there_and_back.h), where a
// has two blocks. In five blocks, z does not fit at step 4 beside a, b, c and
// d. The next use of a is step 6, that of b step 5.
#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tuner/policies/there_and_back.h"
#include "tuner/policies/play_caffe.h"
#include "tuner/policies/play_gpu_manager.h"
#include "tuner/policies/play_unified.h"

namespace spillway {
namespace {

using testing::CaseOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kBlock;
using testing::SpaceOf;
using testing::TunerCase;

constexpr StorageIndex kA = 0;
constexpr StorageIndex kB = 1;
constexpr int64_t kKernelsNs = 7000;

class PlayedTest : public ::testing::Test {
 protected:
  RuntimeStep Within(int64_t blocks) const {
    return {.list = space_.list,
            .profile = tuner_case_.profile,
            .budget_bytes = blocks * kBlock};
  }

  const TunerCase tuner_case_ = CaseOf(testing::ThereAndBack{.a_bytes = 2000});
  const RecomputeSpace space_ = SpaceOf(tuner_case_);
};

TEST_F(PlayedTest, KernelsUseAndFreeTensors) {
  const std::vector<KernelUse> uses = KernelUsesOf(space_.list);
  ASSERT_EQ(uses.size(), 7);
  EXPECT_THAT(uses[5].reads, ElementsAre(1, 4));
  EXPECT_THAT(uses[5].writes, ElementsAre(5));
  EXPECT_THAT(uses[5].deaths, ElementsAre(1, 4));
}

// b is the smallest object of at least a block, so the order does not matter.
// It is copied and comes back.
TEST_F(PlayedTest, TheManagerEvictsTheSmallestObjectThatSuffices) {
  for (const EvictionPolicy policy :
       {EvictionPolicy::kLru, EvictionPolicy::kMru, EvictionPolicy::kLfu,
        EvictionPolicy::kMinEvict, EvictionPolicy::kAlignMemory}) {
    const PlayedPolicy played = PlayGpuManager(Within(5), policy, 1);
    ASSERT_TRUE(played.fits) << played.reason;
    EXPECT_THAT(played.evictions, ElementsAre(Eviction{kB, kBlock, true}));
    EXPECT_EQ(played.to_host_bytes, kBlock);
    EXPECT_EQ(played.to_device_bytes, kBlock);
    EXPECT_EQ(played.step_ns, kKernelsNs + 2 * kBlock);
    EXPECT_EQ(played.device_bytes, 5 * kBlock);
  }
}

TEST_F(PlayedTest, BeladyEvictsTheFarthestNextUse) {
  const PlayedPolicy played =
      PlayGpuManager(Within(5), EvictionPolicy::kBelady, 1);
  ASSERT_TRUE(played.fits) << played.reason;
  EXPECT_THAT(played.evictions, ElementsAre(Eviction{kA, 2 * kBlock, true}));
  EXPECT_EQ(played.step_ns, kKernelsNs + 4 * kBlock);
}

TEST_F(PlayedTest, NothingMovesIfAllFits) {
  for (const PlayedPolicy& played :
       {PlayGpuManager(Within(6), EvictionPolicy::kLru, 1),
        PlayCaffe(Within(6)), PlayUnified(Within(6), kBlock)}) {
    ASSERT_TRUE(played.fits) << played.reason;
    EXPECT_THAT(played.evictions, IsEmpty());
    EXPECT_EQ(played.step_ns, kKernelsNs);
    EXPECT_EQ(played.device_bytes, 6 * kBlock);
  }
}

// c, d and z are locked together.
TEST_F(PlayedTest, TheManagerNeedsTheLargestKernel) {
  EXPECT_TRUE(PlayGpuManager(Within(4), EvictionPolicy::kBelady, 1).fits);
  const PlayedPolicy played =
      PlayGpuManager(Within(2), EvictionPolicy::kBelady, 1);
  EXPECT_FALSE(played.fits);
  EXPECT_THAT(played.reason, HasSubstr("There is not enough memory on device"));
}

// a was used at step 1, b at step 2.
TEST_F(PlayedTest, CaffeEvictsTheLeastRecentlyUsedLargeChunk) {
  for (const int64_t threshold : {0, 1500}) {
    const PlayedPolicy played =
        PlayCaffe(Within(5), {.size_threshold_bytes = threshold});
    ASSERT_TRUE(played.fits) << played.reason;
    EXPECT_THAT(played.evictions, ElementsAre(Eviction{kA, 2 * kBlock, true}));
    EXPECT_EQ(played.step_ns, kKernelsNs + 4 * kBlock);
  }
}

TEST_F(PlayedTest, CaffeKeepsSmallChunks) {
  const PlayedPolicy played =
      PlayCaffe(Within(5), {.size_threshold_bytes = 3000});
  EXPECT_FALSE(played.fits);
  EXPECT_THAT(played.reason, HasSubstr("step 4"));
  EXPECT_THAT(played.reason, HasSubstr("1024 more bytes"));
}

// With a soft limit of four blocks, a leaves at step 3 already. Then b, c, d
// and z take four blocks, and at the end a, y and x.
TEST_F(PlayedTest, CaffeLeavesThePartOfTheDeviceFreeThatIsExcluded) {
  const PlayedPolicy played = PlayCaffe(
      Within(5), {.size_threshold_bytes = 0, .exclude_bytes = kBlock});
  ASSERT_TRUE(played.fits) << played.reason;
  EXPECT_THAT(played.evictions, ElementsAre(Eviction{kA, 2 * kBlock, true}));
  EXPECT_EQ(played.device_bytes, 4 * kBlock);
}

// The oldest page is the first one of a; the other one stays.
TEST_F(PlayedTest, UnifiedMemoryEvictsPages) {
  const PlayedPolicy played = PlayUnified(Within(5), kBlock);
  ASSERT_TRUE(played.fits);
  EXPECT_THAT(played.evictions, ElementsAre(Eviction{kA, kBlock, true}));
  EXPECT_EQ(played.step_ns, kKernelsNs + 2 * kBlock);
}

// With room for one page, each page that a kernel touches evicts the one
// before.
TEST_F(PlayedTest, UnifiedMemoryRunsInOnePage) {
  EXPECT_TRUE(PlayUnified(Within(1), kBlock).fits);
  EXPECT_FALSE(PlayUnified(Within(0), kBlock).fits);
}

}  // namespace
}  // namespace spillway
