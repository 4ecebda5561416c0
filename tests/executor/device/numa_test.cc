#include "executor/device/cuda/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace spillway {
namespace {

// What is said of the device when Linux has `text` for "0000:af:00.0".
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

// -1 where the system does not say.
int PresentPolicy() {
  int policy = -1;
  const long failed =
      syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0);
  return failed == 0 ? policy : -1;
}

TEST(NumaTest, ThePolicyLastsAsLongAsTheScope) {
  const int before = PresentPolicy();
  if (before < 0) GTEST_SKIP() << "this system says nothing of its policy";
  {
    const ScopedNumaNode node(0);
    const int inside = PresentPolicy();
    EXPECT_TRUE(inside == MPOL_PREFERRED || inside == before) << inside;
  }
  EXPECT_EQ(PresentPolicy(), before);
  {
    const ScopedNumaNode none(std::nullopt);
    EXPECT_EQ(PresentPolicy(), before);
  }
}

}  // namespace
}  // namespace spillway
