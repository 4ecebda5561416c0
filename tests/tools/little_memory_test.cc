// The program in a process with little memory (`ulimit -v`): it runs, or prints
// the reason in one line, and never ends with a signal.
#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

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

  static ProgramRun RunWithin(int64_t bytes) {
    return RunningProgram({.arguments = GetParam().arguments,
                           .address_space_kib = bytes / 1_KiB})
        .Wait();
  }
};

TEST_P(LittleMemoryTest, RunsOrSaysWhyNot) {
  int refused = 0;
  for (const int64_t bytes : {60_MiB, 100_MiB, 150_MiB, 200_MiB, 300_MiB}) {
    SCOPED_TRACE(bytes);
    const ProgramRun run = RunWithin(bytes);
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
