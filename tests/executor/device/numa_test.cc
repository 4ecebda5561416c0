#include "executor/device/cuda/numa.h"

#include <linux/mempolicy.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace spillway {
namespace {

// The result for the device if Linux has `text` for "0000:af:00.0".
std::optional<int> NodeIn(const std::string& text, const std::string& device) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder.File("0000:af:00.0"));
  std::ofstream(folder.File("0000:af:00.0/numa_node")) << text;
  return NumaNodeOf(device, folder.path());
}

TEST(NumaTest, LinuxSaysWhichNodeADeviceIsNear) {
  EXPECT_EQ(NodeIn("1\n", "0000:AF:00.0"), 1);
  EXPECT_EQ(NodeIn("0\n", "0000:af:00.0"), 0);
}

TEST(NumaTest, NothingIsKnownOfOneNodeOrNoDevice) {
  EXPECT_EQ(NodeIn("-1\n", "0000:AF:00.0"), std::nullopt);
  EXPECT_EQ(NodeIn("?\n", "0000:AF:00.0"), std::nullopt);
  EXPECT_EQ(NodeIn("1\n", "0000:17:00.0"), std::nullopt);
}

constexpr int kFlags = 1 << 15;  // as MPOL_F_STATIC_NODES

// Stores a policy as Linux does for a thread.
class FakeMemoryPolicy final : public MemoryPolicyApi {
 public:
  std::optional<MemoryPolicy> Get() override {
    return can_get ? std::optional(policy) : std::nullopt;
  }
  bool Set(const MemoryPolicy& wanted) override {
    ++sets;
    if (can_set) policy = wanted;
    return can_set;
  }

  MemoryPolicy policy = {.mode = MPOL_INTERLEAVE | kFlags, .nodes = 0b1011};
  bool can_get = true;
  bool can_set = true;
  int sets = 0;
};

TEST(NumaTest, TheThreadsOwnPolicyIsPutBack) {
  FakeMemoryPolicy fake;
  {
    const ScopedNumaNode node(70, fake);
    EXPECT_EQ(fake.policy.mode, MPOL_PREFERRED);
    EXPECT_EQ(fake.policy.nodes, MemoryPolicy::Nodes(1) << 70);
  }
  EXPECT_EQ(fake.policy.mode, MPOL_INTERLEAVE | kFlags);
  EXPECT_EQ(fake.policy.nodes, 0b1011);
  EXPECT_EQ(fake.sets, 2);
}

TEST(NumaTest, APolicyThatCannotBePutBackIsNotChanged) {
  FakeMemoryPolicy silent;
  silent.can_get = false;
  { const ScopedNumaNode node(1, silent); }
  EXPECT_EQ(silent.sets, 0);
  FakeMemoryPolicy fixed;
  fixed.can_set = false;
  { const ScopedNumaNode node(1, fixed); }
  EXPECT_EQ(fixed.sets, 1);
}

TEST(NumaTest, WithoutANodeNothingIsAsked) {
  for (const std::optional<int> node :
       {std::optional<int>(), std::optional(4'096), std::optional(-1)}) {
    FakeMemoryPolicy fake;
    { const ScopedNumaNode scope(node, fake); }
    EXPECT_EQ(fake.sets, 0);
  }
}

// The system's own policy, if this test may change it.
TEST(NumaTest, LinuxTakesThePolicyBack) {
  MemoryPolicyApi& system = SystemMemoryPolicy();
  const std::optional<MemoryPolicy> first = system.Get();
  if (!first) GTEST_SKIP() << "this system does not report its policy";
  if (!system.Set({.mode = MPOL_INTERLEAVE, .nodes = 1})) {
    GTEST_SKIP() << "this system does not allow setting a policy";
  }
  {
    const ScopedNumaNode node(0);
    EXPECT_EQ(system.Get()->mode, MPOL_PREFERRED);
  }
  EXPECT_EQ(system.Get()->mode, MPOL_INTERLEAVE);
  EXPECT_EQ(system.Get()->nodes, 1);
  EXPECT_TRUE(system.Set(*first));
  EXPECT_EQ(system.Get()->mode, first->mode);
}

}  // namespace
}  // namespace spillway
