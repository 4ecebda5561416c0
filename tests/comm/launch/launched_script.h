// Ranks that are shell scripts, for tests of Launch.
#ifndef SPILLWAY_TESTS_COMM_LAUNCH_LAUNCHED_SCRIPT_H_
#define SPILLWAY_TESTS_COMM_LAUNCH_LAUNCHED_SCRIPT_H_

#include <fcntl.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "comm/launch/file_descriptor.h"
#include "comm/launch/launch.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace spillway::testing {

// Whether a process has not ended; one that nobody has waited for has.
inline bool IsRunning(pid_t process) {
  const auto text = ReadFile(fmt::format("/proc/{}/stat", process));
  if (!text.ok()) return false;
  const size_t state = text->rfind(')') + 2;
  return state < text->size() && (*text)[state] != 'Z' && (*text)[state] != 'X';
}

// Scripts run in a temporary folder, with $rank for SPILLWAY_RANK and
//   show NAME       creates a file
//   await NAME      waits for one
//   forever         waits for a signal
class LaunchedScriptTest : public ::testing::Test {
 protected:
  // Of two ranks, with a short grace.
  LaunchSpec Script(const std::string& script) const {
    const std::string functions =
        "rank=$SPILLWAY_RANK\n"
        "show() { : > \"$1\"; }\n"
        "await() { while [ ! -e \"$1\" ]; do sleep 0.01; done; }\n"
        "forever() { while :; do sleep 0.05; done; }\n";
    return {.ranks = 2,
            .command = {"/bin/sh", "-c",
                        fmt::format("cd {}\n{}{}\n", folder_.path(), functions,
                                    script)},
            .grace = std::chrono::milliseconds(200)};
  }

  // Its output goes to files.
  absl::StatusOr<LaunchResult> Run(LaunchSpec spec) const {
    const FileDescriptor output = Create("output");
    const FileDescriptor error = Create("error");
    spec.output = output.fd();
    spec.error = error.fd();
    return Launch(spec);
  }
  LaunchResult MustRun(const LaunchSpec& spec) const {
    const auto result = Run(spec);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.value_or(LaunchResult{.exit_status = -1});
  }

  std::string Output() const { return Content("output"); }
  std::string Error() const { return Content("error"); }
  std::string Content(const std::string& name) const {
    return ReadFile(folder_.File(name)).value_or("");
  }

  void Await(const std::string& name) const {
    while (!std::filesystem::exists(folder_.File(name))) Pause();
  }
  // The number that a script has written with a line end.
  pid_t AwaitProcess(const std::string& name) const {
    while (!Content(name).ends_with("\n")) Pause();
    return std::stoi(Content(name));
  }
  static void AwaitEnd(pid_t process) {
    while (IsRunning(process)) Pause();
  }
  static void Pause() {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  const TemporaryFolder folder_;

 private:
  FileDescriptor Create(const std::string& name) const {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    return FileDescriptor(open(folder_.File(name).c_str(), kFlags, 0600));
  }
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_COMM_LAUNCH_LAUNCHED_SCRIPT_H_
