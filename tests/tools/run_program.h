// Runs the program `spillway` as a user does: in a separate process, with files
// and an exit status.
#ifndef SPILLWAY_TESTS_TOOLS_RUN_PROGRAM_H_
#define SPILLWAY_TESTS_TOOLS_RUN_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/support/temporary_folder.h"  // IWYU pragma: export

namespace spillway::testing {

struct ProgramRun {
  int exit_status = -1;  // 128 + n: ended by signal n
  std::string out = {};
  std::string err = {};
};

inline void PrintTo(const ProgramRun& run, std::ostream* out) {
  *out << "exit status " << run.exit_status << ", stdout \"" << run.out
       << "\", stderr \"" << run.err << "\"";
}

// `stdout_path`: a file for its standard output, instead of `out`.
ProgramRun RunProgram(const std::vector<std::string>& arguments,
                      const std::string& stdout_path = "");

struct ProgramStart {
  std::vector<std::string> arguments = {};
  // What starts it: {"mpirun", "-n", "2"}; empty: this process.
  std::vector<std::string> under = {};
  std::string stdout_path = {};  // file for standard output; empty: kept
  // Whether standard error is a terminal, so that progress is shown.
  bool has_terminal = false;
  // Its limit, `ulimit -v`, in KiB; 0: that of this process.
  int64_t address_space_kib = 0;
  // False: SIGINT and SIGTERM have their default action, even if this process
  // ignores them.
  bool inherits_signals = false;
};

// The running program. Killed at the end of the scope if it still runs. Not
// thread-safe.
class RunningProgram {
 public:
  explicit RunningProgram(const ProgramStart& start);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Waits until the kept standard output, or standard error, contains `text`.
  // If the program ends before that: returns false, and the test fails.
  bool WaitFor(std::string_view text);
  void Send(int signal) const;
  // Waits for the end.
  ProgramRun Wait();

 private:
  bool HasEnded(bool waits = false);
  std::string StandardError();
  std::string StandardOutput() const;

  const TemporaryFolder folder_;
  std::string stdout_path_;
  std::string kept_stdout_;  // empty: not kept
  int terminal_ = -1;        // receives what the program writes to its terminal
  std::string terminal_text_;
  pid_t process_ = -1;
  std::optional<int> exit_status_;
};

// RunProgram with --json -. The command must succeed; else the test fails and
// the result is null.
nlohmann::ordered_json RunForJson(std::vector<std::string> arguments);

// Checks a run's result: it used the predicted bytes, and its steps allocated
// no memory.
void ExpectExactMemory(const nlohmann::ordered_json& result);

// {"bench", "--model", "lenet"}: the command, then its flags by name.
using FlagValues = std::map<std::string, std::string>;
std::vector<std::string> ToArguments(const std::string& command,
                                     const FlagValues& flags);
// `flags`, extended and replaced by `more`.
FlagValues With(FlagValues flags, const FlagValues& more);

// EXPECT_THAT(RunProgram({...}), Refuses(2, HasSubstr("--model"))): the exit
// status, nothing on stdout, and exactly one line on stderr that matches.
MATCHER_P2(Refuses, exit_status, message,
           "exits with " + ::testing::PrintToString(exit_status) +
               " and one line that " +
               ::testing::DescribeMatcher<std::string>(message)) {
  return arg.exit_status == exit_status && arg.out.empty() &&
         !arg.err.empty() && arg.err.find('\n') == arg.err.size() - 1 &&
         ::testing::ExplainMatchResult(message, arg.err, result_listener);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TOOLS_RUN_PROGRAM_H_
