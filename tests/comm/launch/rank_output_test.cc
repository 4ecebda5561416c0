// The lines of ranks: prefixes, long lines, log files and slow readers.
#include "comm/launch/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/comm/launch/launched_script.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

class RankOutputTest : public testing::LaunchedScriptTest {
 protected:
  std::vector<std::string> OutputLines() const {
    std::istringstream text(Output());
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(RankOutputTest, LinesHaveTheirRank) {
  MustRun(Script("echo hello $rank; echo; echo oh >&2"));
  EXPECT_THAT(OutputLines(), UnorderedElementsAre("[0] hello 0", "[0] ",
                                                  "[1] hello 1", "[1] "));
  EXPECT_THAT(Error(), HasSubstr("[0] oh\n"));
  EXPECT_THAT(Error(), HasSubstr("[1] oh\n"));
}

TEST_F(RankOutputTest, ALastLineWithoutEndIsEnded) {
  MustRun(Script("printf 'one\\ntwo'"));
  EXPECT_THAT(OutputLines(),
              UnorderedElementsAre("[0] one", "[0] two", "[1] one", "[1] two"));
  EXPECT_TRUE(Output().ends_with("two\n"));
}

TEST_F(RankOutputTest, TheBytesOfASingleRankPassUnchanged) {
  LaunchSpec spec = Script("printf 'one\\ntwo'; printf 'a\\rb' >&2");
  spec.ranks = 1;
  MustRun(spec);
  EXPECT_EQ(Output(), "one\ntwo");
  EXPECT_EQ(Error(), "a\rb");
}

TEST_F(RankOutputTest, LinesDoNotMix) {
  LaunchSpec spec = Script(R"(
    i=0
    while [ $i -lt 200 ]; do
      printf '%s ' $i; printf '%0300d' $rank; echo; i=$((i+1))
    done)");
  spec.ranks = 4;
  MustRun(spec);
  std::map<std::string, int> next;  // by rank
  for (const std::string& line : OutputLines()) {
    const std::string rank = line.substr(1, 1);
    EXPECT_EQ(line, fmt::format("[{}] {} {:0>300}", rank, next[rank], rank));
    ++next[rank];
  }
  for (const char* rank : {"0", "1", "2", "3"}) EXPECT_EQ(next[rank], 200);
}

TEST_F(RankOutputTest, LongLinesAreDivided) {
  MustRun(Script("[ $rank = 1 ] || head -c 200000 /dev/zero | tr '\\0' x"));
  const std::vector<std::string> lines = OutputLines();
  ASSERT_EQ(lines.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    const size_t size = i < 3 ? 65536 : 200000 - 3 * 65536;
    EXPECT_EQ(lines[i], "[0] " + std::string(size, 'x'));
  }
}

TEST_F(RankOutputTest, ALineOf64KiBIsWhole) {
  MustRun(
      Script("[ $rank = 1 ] || { head -c 65535 /dev/zero | tr '\\0' x; echo; "
             "echo y; }"));
  EXPECT_EQ(Output(), "[0] " + std::string(65535, 'x') + "\n[0] y\n");
}

TEST_F(RankOutputTest, LogsHaveTheLinesOfOneRankOfAllStarts) {
  LaunchSpec spec = Script(
      "echo $rank $SPILLWAY_RESTART; [ $SPILLWAY_RESTART = 1 ] || "
      "{ show said_$rank; await said_0; await said_1; exit 1; }");
  spec.log_folder = folder_.File("logs");
  spec.max_restarts = 1;
  MustRun(spec);
  EXPECT_EQ(Content("logs/rank_0.log"), "0 0\n0 1\n");
  EXPECT_EQ(Content("logs/rank_1.log"), "1 0\n1 1\n");
  EXPECT_THAT(Output(), HasSubstr("[1] 1 1\n"));
  MustRun(Script("true"));
  EXPECT_EQ(Content("logs/rank_0.log"), "0 0\n0 1\n");
}

// More than the pipes and the queue hold.
TEST_F(RankOutputTest, ASlowReaderGetsEverything) {
  LaunchSpec spec = Script(
      "yes 0123456789abcdef0123456789abcdef | head -c 2000000; show "
      "done_$rank");
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  FileDescriptor write_end(ends[1]);
  spec.output = write_end.fd();
  size_t bytes = 0;
  std::jthread reader([&] {
    const FileDescriptor read_end(ends[0]);
    std::array<char, 5000> buffer;
    for (ssize_t size = 1; size > 0; bytes += static_cast<size_t>(size)) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      size = read(read_end.fd(), buffer.data(), buffer.size());
    }
  });
  const auto result = Launch(spec);
  write_end.Close();
  reader.join();
  EXPECT_THAT(result, testing::IsOk());
  // Lines have 33 bytes, of which the last has no end.
  const size_t lines = 2000000 / 33 + 1;
  EXPECT_EQ(bytes, 2 * (2000000 + 1 + 4 * lines));
}

TEST_F(RankOutputTest, RanksEndIfNobodyReads) {
  LaunchSpec spec = Script("echo $$ > process_$rank; yes");
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[0]);
  const FileDescriptor write_end(ends[1]);
  spec.output = write_end.fd();
  EXPECT_THAT(Launch(spec), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("Broken pipe")));
}

}  // namespace
}  // namespace spillway
