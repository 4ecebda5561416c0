#include "tools/spillway/progress.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "fmt/format.h"

namespace spillway {
namespace {

// Back to the first column, and clear to the end of the line.
constexpr const char* kStartOver = "\r\x1b[K";

}  // namespace

void ShowProgress(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "{}{}", kStartOver, std::string(text));
}

void ClearProgress() { ShowProgress(""); }

}  // namespace spillway
