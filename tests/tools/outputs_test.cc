// Results come before files: commands whose files cannot be written.
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "tests/tools/tiny_data.h"

namespace spillway {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::ProgramRun;
using testing::Refuses;
using testing::RunProgram;
using Words = std::vector<std::string>;

// A command, the flags of its output files, and its last line of text.
struct Writer {
  Words arguments = {};
  std::vector<std::string> flags = {};  // including --json
  std::string result = {};
};

Words Plus(Words arguments, const Words& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class OutputsTest : public ::testing::Test {
 protected:
  OutputsTest() {
    testing::WriteTinyData(folder_.path());
    EXPECT_EQ(RunProgram({"inspect", "--model", "lenet", "--batch_size", "2",
                          "--out", Path("graph")})
                  .exit_status,
              0);
    EXPECT_THAT(WriteFileAtomically(
                    Path("constant"),
                    R"({"format": "spillway.graph", "version": 1, "nodes": [
                {"name": "x", "op": "Const", "attrs": {"dtype": "float32",
                 "shape": [4], "value": 3}}]})"),
                IsOk());
    EXPECT_THAT(WriteFileAtomically(Path("buffers.csv"),
                                    "id,lower,upper,size\na,0,1,16\n"),
                IsOk());
  }

  std::string Path(const std::string& name) const { return folder_.File(name); }

  // Every command that writes files.
  std::vector<Writer> Writers() const {
    const Words lenet = {"--model", "lenet", "--batch_size", "2"};
    return {
        {Plus({"bench", "--num_batches", "1", "--device", "cpu"}, lenet),
         {"--json", "--checkpoint", "--trace", "--report"},
         "checksum"},
        {{"edit", "--graph", Path("graph")},
         {"--json", "--out", "--dot"},
         "equivalent"},
        {Plus({"inspect"}, lenet), {"--json", "--out", "--dot"}, "peak"},
        {{"models"}, {"--json"}, "lenet"},
        {{"pack", "--csv", Path("buffers.csv"), "--capacity", "64"},
         {"--json", "--out"},
         "height"},
        {Plus({"profile", "--num_batches", "1", "--device", "cpu"}, lenet),
         {"--json", "--out"},
         "profile"},
        {{"run", "--graph", Path("constant"), "--fetch", "x:0", "--device",
          "cpu"},
         {"--json", "--out", "--trace"},
         "swapped"},
        {Plus({"simulate"}, lenet), {"--json", "--trace", "--report"}, "bound"},
        {{"train", "--model", "mnist_deep", "--data", "mnist", "--data_dir",
          folder_.path(), "--batch_size", "16", "--device", "cpu"},
         {"--json", "--checkpoint", "--trace"},
         "checksum"},
        {Plus({"tune"}, lenet),
         {"--json", "--out", "--trace", "--report"},
         "chosen"}};
  }

  testing::TemporaryFolder folder_;
};

TEST_F(OutputsTest, AFullDiskCostsNoResultAndEveryFileIsNamed) {
  for (const Writer& writer : Writers()) {
    SCOPED_TRACE(writer.arguments[0]);
    Words arguments = writer.arguments;
    for (const std::string& flag : writer.flags) {
      arguments = Plus(arguments, {flag, "/dev/full"});
    }
    const ProgramRun run = RunProgram(arguments);
    EXPECT_EQ(run.exit_status, 2);
    EXPECT_THAT(run.out, HasSubstr(writer.result));
    for (const std::string& flag : writer.flags) {
      EXPECT_THAT(run.err, HasSubstr(fmt::format(
                               "spillway: {}: cannot write /dev/full: No space "
                               "left on device\n",
                               flag)));
    }
  }
}

// If any one of them fails, the others are written.
TEST_F(OutputsTest, AFileThatFailsLeavesTheOthers) {
  for (const Writer& writer : Writers()) {
    for (const std::string& bad : writer.flags) {
      SCOPED_TRACE(writer.arguments[0] + " " + bad);
      const testing::TemporaryFolder written;
      Words arguments = writer.arguments;
      for (const std::string& flag : writer.flags) {
        arguments = Plus(
            arguments,
            {flag, flag == bad ? "/dev/full" : written.File(flag.substr(2))});
      }
      const ProgramRun run = RunProgram(arguments);
      EXPECT_EQ(run.exit_status, 2);
      EXPECT_THAT(run.out, HasSubstr(writer.result));
      EXPECT_THAT(run.err, HasSubstr(bad + ": cannot write /dev/full"));
      for (const std::string& flag : writer.flags) {
        if (flag == bad) continue;
        EXPECT_THAT(written.Names(), Contains(flag.substr(2)));
      }
    }
  }
}

TEST_F(OutputsTest, JsonOnStdoutStandsAloneThoughFilesFail) {
  for (const Writer& writer : Writers()) {
    SCOPED_TRACE(writer.arguments[0]);
    Words arguments = Plus(writer.arguments, {"--json", "-"});
    if (writer.flags.size() > 1) {
      arguments = Plus(arguments, {writer.flags[1], "/dev/full"});
    }
    const ProgramRun run = RunProgram(arguments);
    EXPECT_EQ(run.exit_status, writer.flags.size() > 1 ? 2 : 0);
    EXPECT_THAT(ParseJson(run.out, "stdout"), IsOk());
  }
}

// The files are written even if stdout fails.
TEST_F(OutputsTest, AFullStdoutLeavesTheFiles) {
  for (const Writer& writer : Writers()) {
    const std::string& command = writer.arguments[0];
    // These print before their work, and end at the failure.
    if (command == "bench" || command == "train") continue;
    SCOPED_TRACE(command);
    const testing::TemporaryFolder written;
    Words arguments = writer.arguments;
    for (const std::string& flag : writer.flags) {
      arguments = Plus(arguments, {flag, written.File(flag.substr(2))});
    }
    const ProgramRun run = RunProgram(arguments, "/dev/full");
    EXPECT_EQ(run.exit_status, 2);
    EXPECT_THAT(run.err, HasSubstr("cannot write standard output"));
    EXPECT_EQ(written.Names().size(), writer.flags.size());
  }
}

// A step that does not fit is reported too; a failed file takes precedence.
TEST_F(OutputsTest, AnOutcomeIsReportedBeforeTheFiles) {
  const ProgramRun run =
      RunProgram({"simulate", "--model", "lenet", "--device_memory", "1MiB",
                  "--json", "/dev/full", "--trace", Path("trace")});
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.out, HasSubstr("fits         no"));
  const size_t outcome = run.err.find("missing");
  const size_t failure = run.err.find("--json: cannot write /dev/full");
  ASSERT_NE(outcome, std::string::npos) << run.err;
  ASSERT_NE(failure, std::string::npos) << run.err;
  EXPECT_LT(outcome, failure);
  EXPECT_THAT(folder_.Names(), Contains("trace"));
}

TEST_F(OutputsTest, FoldersAreRefusedBeforeTheWork) {
  for (const Writer& writer : Writers()) {
    for (const std::string& flag : writer.flags) {
      SCOPED_TRACE(writer.arguments[0] + " " + flag);
      EXPECT_THAT(RunProgram(Plus(writer.arguments, {flag, folder_.path()})),
                  Refuses(2, HasSubstr(fmt::format("{}: cannot write {}", flag,
                                                   folder_.path()))));
      EXPECT_THAT(
          RunProgram(Plus(writer.arguments, {flag, Path("missing/file")})),
          Refuses(2, HasSubstr(flag + ": cannot write ")));
    }
  }
}

}  // namespace
}  // namespace spillway
