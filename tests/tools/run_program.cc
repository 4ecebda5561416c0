#include "tests/tools/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "gtest/gtest.h"

extern char** environ;

namespace spillway::testing {
namespace {

// Exit status of the program, run with these files as its output.
int Spawn(const std::vector<std::string>& arguments, const std::string& out,
          const std::string& err) {
  std::vector<char*> argv = {const_cast<char*>(SPILLWAY_PROGRAM)};
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), kFlags, 0600);
  pid_t process = 0;
  const int error = posix_spawn(&process, SPILLWAY_PROGRAM, &actions, nullptr,
                                argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << SPILLWAY_PROGRAM;
  int status = 0;
  if (error != 0 || waitpid(process, &status, 0) != process) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Content(const std::string& path) {
  const auto content = ReadFile(path);
  EXPECT_TRUE(content.ok()) << content.status().ToString();
  return content.value_or("");
}

}  // namespace

ProgramRun RunProgram(const std::vector<std::string>& arguments,
                      const std::string& stdout_path) {
  const TemporaryFolder folder;
  const std::string out = folder.File("stdout");
  const std::string err = folder.File("stderr");
  ProgramRun run;
  run.exit_status =
      Spawn(arguments, stdout_path.empty() ? out : stdout_path, err);
  if (stdout_path.empty()) run.out = Content(out);
  run.err = Content(err);
  return run;
}

nlohmann::ordered_json RunForJson(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "-"});
  const ProgramRun run = RunProgram(arguments);
  EXPECT_EQ(run.exit_status, 0) << run.err;
  const auto json = ParseJson(run.out, "stdout");
  EXPECT_TRUE(json.ok()) << json.status().ToString() << "\n" << run.out;
  return json.ok() ? *json : nlohmann::ordered_json();
}

void ExpectExactMemory(const nlohmann::ordered_json& result) {
  for (const char* peak : {"peak_device_bytes", "peak_host_bytes"}) {
    EXPECT_EQ(result[peak]["predicted"], result[peak]["measured"]) << peak;
  }
  EXPECT_EQ(result["device_allocations_in_steps"], 0);
}

std::vector<std::string> ToArguments(const std::string& command,
                                     const FlagValues& flags) {
  std::vector<std::string> arguments = {command};
  for (const auto& [flag, value] : flags) {
    arguments.insert(arguments.end(), {flag, value});
  }
  return arguments;
}

}  // namespace spillway::testing
