// Runs the program `spillway` as a user would: a process of its own, files and
// an exit status.
#ifndef SPILLWAY_TESTS_TOOLS_RUN_PROGRAM_H_
#define SPILLWAY_TESTS_TOOLS_RUN_PROGRAM_H_

#include <sys/types.h>

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

// `stdout_path`: where its standard output goes instead of `out`.
ProgramRun RunProgram(const std::vector<std::string>& arguments,
                      const std::string& stdout_path = "");

struct ProgramStart {
  std::vector<std::string> arguments = {};
  std::string stdout_path = {};  // where its standard output goes; else kept
  // Whether standard error is a terminal, on which progress is shown.
  bool has_terminal = false;
  // Else SIGINT and SIGTERM have their default action, whatever this process
  // ignores.
  bool inherits_signals = false;
};

// The program while it runs. Ended at the end of its scope, should it still
// run. For one thread.
class RunningProgram {
 public:
  explicit RunningProgram(const ProgramStart& start);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Waits until the standard output that is kept, or standard error, holds
  // `text`. False, and the test fails, if the program ends without it.
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
  std::string kept_stdout_;  // empty: it is not kept
  int terminal_ = -1;        // what the program writes to its terminal
  std::string terminal_text_;
  pid_t process_ = -1;
  std::optional<int> exit_status_;
};

// The same with --json -, which must succeed (else the test fails and null is
// returned).
nlohmann::ordered_json RunForJson(std::vector<std::string> arguments);

// A run's result: it took the bytes that were predicted, and its steps
// allocated none.
void ExpectExactMemory(const nlohmann::ordered_json& result);

// {"bench", "--model", "lenet"}: the command and its flags, by name.
using FlagValues = std::map<std::string, std::string>;
std::vector<std::string> ToArguments(const std::string& command,
                                     const FlagValues& flags);

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
