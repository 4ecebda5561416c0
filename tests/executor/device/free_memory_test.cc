// Memory of machines and containers that the test describes in files.
#include "executor/device/free_memory.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/units.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr int64_t kTotal = 64_GiB;
constexpr int64_t kAvailable = 48_GiB;

// A tree of /proc and /sys/fs/cgroup; initially of a machine without groups.
class FreeMemoryTest : public ::testing::Test {
 protected:
  FreeMemoryTest() {
    Write("proc/meminfo",
          "MemTotal:       67108864 kB\n"
          "MemFree:         1048576 kB\n"
          "MemAvailable:   50331648 kB\n");
  }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_.File(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  // The process is in `group`; the mount shows the hierarchy below `seen`.
  void MountV2(const std::string& group, const std::string& seen = "/") const {
    Write("proc/self/cgroup", "0::" + group + "\n");
    Write("proc/self/mountinfo",
          "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
          "31 22 0:27 " +
              seen +
              " /sys/fs/cgroup rw,nosuid shared:4 master:2 - cgroup2 cgroup2 "
              "rw,nsdelegate\n");
  }
  void MountV1(const std::string& group, const std::string& seen = "/") const {
    Write("proc/self/cgroup", "5:cpu,cpuacct:/elsewhere\n4:memory:" + group +
                                  "\n1:name=systemd:/user.slice\n");
    Write("proc/self/mountinfo",
          "35 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
          "36 31 0:32 " +
              seen +
              " /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n");
  }

  void WriteV2(const std::string& group, const std::string& limit,
               const std::string& use = "") const {
    Write("sys/fs/cgroup" + group + "/memory.max", limit);
    if (!use.empty()) Write("sys/fs/cgroup" + group + "/memory.current", use);
  }
  void WriteV1(const std::string& group, int64_t limit, int64_t use) const {
    const std::string folder = "sys/fs/cgroup/memory" + group;
    Write(folder + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
    Write(folder + "/memory.usage_in_bytes", std::to_string(use) + "\n");
  }

  absl::StatusOr<MachineMemory> Read() const {
    return ReadMachineMemory(folder_.path());
  }
  void ExpectMemory(int64_t total_bytes, int64_t free_bytes) const {
    ASSERT_OK_AND_ASSIGN(const MachineMemory memory, Read());
    EXPECT_EQ(memory.total_bytes, total_bytes);
    EXPECT_EQ(memory.free_bytes, free_bytes);
  }

  const testing::TemporaryFolder folder_;
};

std::string Text(int64_t bytes) { return std::to_string(bytes) + "\n"; }

TEST_F(FreeMemoryTest, WithoutGroupsItIsTheMachines) {
  ExpectMemory(kTotal, kAvailable);
}

TEST_F(FreeMemoryTest, VersionTwoLimitsTheGroupBelowItsUse) {
  MountV2("/docker/1f2e");
  WriteV2("/docker/1f2e", Text(8_GiB), Text(3_GiB));
  ExpectMemory(8_GiB, 5_GiB);
}

TEST_F(FreeMemoryTest, MaxIsNoLimit) {
  MountV2("/docker/1f2e");
  WriteV2("/docker/1f2e", "max\n", Text(3_GiB));
  ExpectMemory(kTotal, kAvailable);
}

TEST_F(FreeMemoryTest, PagesOfFilesThatCanBeDroppedAreFree) {
  MountV2("/docker");
  WriteV2("/docker", Text(8_GiB), Text(7_GiB));
  Write("sys/fs/cgroup/docker/memory.stat",
        "anon 1\nactive_file 77\ninactive_file " + Text(2_GiB));
  ExpectMemory(8_GiB, 3_GiB);
}

// The lowest limit and the least free memory may belong to different groups.
TEST_F(FreeMemoryTest, AncestorsLimitTheirGroups) {
  MountV2("/pods/pod7/main");
  WriteV2("/pods", Text(16_GiB), Text(15_GiB));
  WriteV2("/pods/pod7", Text(10_GiB), Text(2_GiB));
  WriteV2("/pods/pod7/main", "max\n", Text(1_GiB));
  WriteV2("/pods/pod8", Text(1_GiB), Text(1_GiB));  // another group
  ExpectMemory(10_GiB, 1_GiB);
}

TEST_F(FreeMemoryTest, InsideAContainerTheMountIsTheGroup) {
  for (const std::string group : {"/", "/docker/1f2e", "/../../else"}) {
    SCOPED_TRACE(group);
    MountV2(group, "/docker/1f2e");
    WriteV2("", Text(4_GiB), Text(1_GiB));
    ExpectMemory(4_GiB, 3_GiB);
  }
  MountV2("/docker/1f2e/inner", "/docker/1f2e");
  WriteV2("/inner", Text(2_GiB), Text(1_GiB));
  ExpectMemory(2_GiB, 1_GiB);
}

TEST_F(FreeMemoryTest, VersionOneLimitsTheGroupAndItsAncestors) {
  MountV1("/lxc/box");
  constexpr int64_t kUnlimited = 9223372036854771712;
  WriteV1("", kUnlimited, 20_GiB);
  WriteV1("/lxc", 12_GiB, 4_GiB);
  WriteV1("/lxc/box", kUnlimited, 3_GiB);
  ExpectMemory(12_GiB, 8_GiB);
  WriteV1("/lxc/box", 6_GiB, 3_GiB);
  ExpectMemory(6_GiB, 3_GiB);
  Write("sys/fs/cgroup/memory/lxc/box/memory.stat",
        "inactive_file 5\ntotal_inactive_file " + Text(1_GiB));
  ExpectMemory(6_GiB, 4_GiB);
}

// As with systemd: version 2 has the processes, version 1 the memory.
TEST_F(FreeMemoryTest, InAHybridTheHierarchyWithTheLimitCounts) {
  Write("proc/self/cgroup", "4:memory:/box\n0::/user.slice\n");
  Write("proc/self/mountinfo",
        "36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  Write("sys/fs/cgroup/unified/user.slice/cgroup.procs", "1\n");
  WriteV1("/box", 3_GiB, 1_GiB);
  ExpectMemory(3_GiB, 2_GiB);
}

TEST_F(FreeMemoryTest, AGroupOverItsLimitHasNothingFree) {
  MountV2("/box");
  WriteV2("/box", Text(1_GiB), Text(2_GiB));
  ExpectMemory(1_GiB, 0);
}

TEST_F(FreeMemoryTest, TheAddressSpaceOfTheProcessIsALimit) {
  Write("proc/self/status", "Name:\tspillway\nVmSize:\t 1048576 kB\n");
  Write("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit   Units\n"
        "Max data size             unlimited            unlimited    bytes\n"
        "Max address space         3221225472           unlimited    bytes\n");
  ExpectMemory(3_GiB, 2_GiB);
  MountV2("/docker");
  WriteV2("/docker", Text(8_GiB), Text(7_GiB));
  ExpectMemory(3_GiB, 1_GiB);
}

TEST_F(FreeMemoryTest, TheDataOfTheProcessIsALimit) {
  Write("proc/self/status", "VmSize:\t9999999 kB\nVmData:\t524288 kB\n");
  Write("proc/self/limits",
        "Max data size             1073741824           unlimited    bytes\n"
        "Max address space         unlimited            unlimited    bytes\n");
  ExpectMemory(1_GiB, 512_MiB);
  Write("proc/self/status", "VmData:\t2097152 kB\n");  // set later
  ExpectMemory(1_GiB, 0);
  Write("proc/self/status", "VmSize:\t1 kB\n");
  ExpectMemory(kTotal, kAvailable);
}

TEST_F(FreeMemoryTest, ALimitAboveTheMachineIsNone) {
  MountV2("/box");
  WriteV2("/box", Text(1024 * 1_GiB), Text(0));
  ExpectMemory(kTotal, kAvailable);
}

TEST_F(FreeMemoryTest, MissingUseIsNone) {
  MountV2("/box");
  WriteV2("/box", Text(2_GiB));
  ExpectMemory(2_GiB, 2_GiB);
}

TEST_F(FreeMemoryTest, DamagedFilesLimitNothing) {
  for (const std::string limit :
       {"", "\n", "-1\n", "12 GiB\n", "lots\n", "99999999999999999999999\n"}) {
    SCOPED_TRACE(limit);
    MountV2("/box");
    WriteV2("/box", limit, Text(1_GiB));
    ExpectMemory(kTotal, kAvailable);
  }
  WriteV2("/box", Text(1_GiB), Text(1_GiB));
  for (const char* cgroup : {"", "0", "0:", "::::\n", "x:memory\n", "\n\n"}) {
    SCOPED_TRACE(cgroup);
    Write("proc/self/cgroup", cgroup);
    ExpectMemory(kTotal, kAvailable);
  }
  MountV2("/box");
  for (const char* mounts :
       {"", "-\n", "31 22 0:27 / - cgroup2\n", "31 - cgroup2 cgroup2 rw\n"}) {
    SCOPED_TRACE(mounts);
    Write("proc/self/mountinfo", mounts);
    ExpectMemory(kTotal, kAvailable);
  }
}

TEST_F(FreeMemoryTest, AMachineThatSaysNothingIsUnavailable) {
  for (const char* meminfo :
       {"", "MemTotal: 5 kB\n", "MemAvailable: 5 kB\n",
        "MemTotal: 5 kB\nMemAvailable: lots\n",
        "MemTotal: 99999999999999999999 kB\nMemAvailable: 5 kB\n"}) {
    SCOPED_TRACE(meminfo);
    Write("proc/meminfo", meminfo);
    EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("/proc/meminfo")));
  }
}

TEST(MachineMemoryTest, ThisMachineHasSome) {
  ASSERT_OK_AND_ASSIGN(const MachineMemory memory, ReadMachineMemory());
  EXPECT_GT(memory.free_bytes, 0);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
}

}  // namespace
}  // namespace spillway
