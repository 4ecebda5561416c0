#include "comm/launch/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// More than a pipe holds, unless somebody goes on writing to it.
constexpr size_t kLastBytes = size_t{1} << 20;

}  // namespace

absl::StatusOr<RankOutput> RankOutput::Open(const RankOutputSpec& spec) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return FailedPrecondition(
        fmt::format("no pipe can be opened: {}", strerror(errno)));
  }
  RankOutput output(spec);
  output.read_end_ = FileDescriptor(ends[0]);
  output.write_end_ = FileDescriptor(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return output;
}

void RankOutput::Read() {
  if (read_end_.is_open()) TakeBytes();
}

void RankOutput::Finish() {
  for (size_t bytes = 0; bytes < kLastBytes; bytes += kLineBytes) {
    if (!read_end_.is_open() || !TakeBytes()) break;
  }
  if (read_end_.is_open()) EndStream();
}

bool RankOutput::TakeBytes() {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kLineBytes);
  const ssize_t size = read(read_end_.fd(), buffer.get(), kLineBytes);
  if (size > 0) {
    Add({buffer.get(), static_cast<size_t>(size)});
    return true;
  }
  const bool is_end = size == 0 || (errno != EAGAIN && errno != EINTR);
  if (is_end) EndStream();
  return false;
}

void RankOutput::Add(std::string_view bytes) {
  if (spec_.prefix.empty()) {
    spec_.queue->Add(spec_.output, bytes);
    Log(bytes);
    return;
  }
  while (!bytes.empty()) {
    const size_t room = kLineBytes - line_.size();
    const std::string_view next = bytes.substr(0, room);
    const size_t end = next.find('\n');
    const size_t taken = std::min(end, next.size());
    line_ += next.substr(0, taken);
    const bool is_whole = end != next.npos;
    bytes.remove_prefix(taken + (is_whole ? 1 : 0));
    if (!is_whole && line_.size() < kLineBytes) return;
    AddLine(line_);
    line_.clear();
  }
}

void RankOutput::AddLine(std::string_view line) {
  const std::string text = fmt::format("{}\n", std::string(line));
  spec_.queue->Add(spec_.output, spec_.prefix + text);
  Log(text);
}

void RankOutput::Log(std::string_view bytes) {
  if (spec_.log < 0) return;
  while (!bytes.empty()) {
    const ssize_t written = write(spec_.log, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      spec_.queue->Fail(FailedPrecondition(
          fmt::format("a log file cannot be written: {}", strerror(errno))));
      return;
    }
  }
}

void RankOutput::EndStream() {
  if (!line_.empty()) AddLine(line_);
  line_.clear();
  read_end_.Close();
}

}  // namespace spillway
