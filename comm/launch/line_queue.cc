#include "comm/launch/line_queue.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// A pipe that can be written takes this much without blocking (pipe(7)).
constexpr size_t kWriteBytes = PIPE_BUF;

std::string StreamName(int fd) {
  if (fd == STDOUT_FILENO) return "the standard output";
  if (fd == STDERR_FILENO) return "the standard error output";
  return fmt::format("the output {}", fd);
}

}  // namespace

void LineQueue::Add(int fd, std::string_view text) {
  if (!status_.ok() || text.empty()) return;
  bytes_ += text.size();
  // Short lines are written together.
  const bool joins = !parts_.empty() && parts_.back().fd == fd &&
                     parts_.back().text.size() + text.size() <= kWriteBytes;
  if (!joins) parts_.push_back({.fd = fd});
  parts_.back().text += text;
}

void LineQueue::WriteSome() {
  const Part& part = parts_.front();
  const size_t size = std::min(kWriteBytes, part.text.size() - written_);
  const ssize_t written = write(part.fd, part.text.data() + written_, size);
  if (written < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    Fail(FailedPrecondition(fmt::format("{} cannot be written: {}",
                                        StreamName(part.fd), strerror(errno))));
    return;
  }
  written_ += static_cast<size_t>(written);
  bytes_ -= static_cast<size_t>(written);
  if (written_ < part.text.size()) return;
  parts_.pop_front();
  written_ = 0;
}

void LineQueue::Clear() {
  parts_.clear();
  written_ = 0;
  bytes_ = 0;
}

void LineQueue::Fail(const absl::Status& status) {
  if (status_.ok()) status_ = status;
  Clear();
}

}  // namespace spillway
