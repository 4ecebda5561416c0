// The program in a process with little memory (`ulimit -v`): it runs, or prints
// the reason in one line, and never ends with a signal.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/units.h"
#include "gtest/gtest.h"
#include "tests/support/test_size.h"
#include "tests/tools/run_program.h"

namespace spillway {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::RunningProgram;
using ::testing::SizeIs;

// Lines on stderr that are errors; skips the LMS log.
std::vector<std::string> Errors(const ProgramRun& run) {
  std::vector<std::string> errors;
  size_t begin = 0;
  while (begin < run.err.size()) {
    const size_t end = std::min(run.err.find('\n', begin), run.err.size());
    const std::string line = run.err.substr(begin, end - begin);
    if (!line.starts_with("[LMS]")) errors.push_back(line);
    begin = end + 1;
  }
  return errors;
}

struct LittleMemoryCase {
  std::string name;
  std::vector<std::string> arguments;
};

void PrintTo(const LittleMemoryCase& c, std::ostream* out) { *out << c.name; }

class LittleMemoryTest : public ::testing::TestWithParam<LittleMemoryCase> {
 protected:
  void SetUp() override {
    if (testing::kHasAddressSanitizer) {
      GTEST_SKIP() << "AddressSanitizer maps terabytes";
    }
  }

  static ProgramRun RunWithin(int64_t bytes,
                              const std::vector<std::string>& arguments) {
    return RunningProgram(
               {.arguments = arguments, .address_space_kib = bytes / 1_KiB})
        .Wait();
  }

  // The least address space, to 5 MiB, in which the kernel can map the program
  // and the dynamic loader its libraries. With less, the program's own code
  // never runs.
  static int64_t BytesToLoad() {
    constexpr int kLoaderFailed = 127;
    constexpr int kKernelFailed = 128 + SIGSEGV;
    int64_t bytes = 20_MiB;
    while (true) {
      const int status = RunWithin(bytes, {"--version"}).exit_status;
      if (status != kLoaderFailed && status != kKernelFailed) return bytes;
      bytes += 5_MiB;
    }
  }
};

TEST_P(LittleMemoryTest, RunsOrSaysWhyNot) {
  const int64_t to_load = BytesToLoad();
  int refused = 0;
  for (const int64_t more : {0_MiB, 40_MiB, 90_MiB, 140_MiB, 240_MiB}) {
    SCOPED_TRACE(absl::StrCat(to_load, " + ", more));
    const ProgramRun run = RunWithin(to_load + more, GetParam().arguments);
    EXPECT_THAT(run.exit_status, AnyOf(Eq(0), Eq(3))) << run.err;
    if (run.exit_status != 3) continue;
    EXPECT_THAT(Errors(run), SizeIs(1)) << run.err;
    EXPECT_THAT(run.err, HasSubstr("spillway: "));
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, LittleMemoryTest,
    ::testing::ValuesIn(std::vector<LittleMemoryCase>{
        {"Bench",
         {"bench", "--model=lenet", "--batch_size=16", "--device=cpu",
          "--num_batches=2", "--num_warmup_batches=0", "--threads=2"}},
        {"BenchTuned",
         {"bench", "--model=resnet20", "--batch_size=64", "--device=cpu",
          "--lms=auto", "--num_batches=1", "--num_warmup_batches=0",
          "--threads=2"}},
        {"BenchOfTooMuch",
         {"bench", "--model=resnet50", "--batch_size=16", "--device=cpu",
          "--lms=auto", "--num_batches=1"}},
        {"Tune",
         {"tune", "--model=resnet20", "--batch_size=16", "--device=cpu",
          "--profile=p100_pcie", "--device_memory=10MiB"}}}),
    [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace spillway
