// Text on its way to descriptors that may be slow: written in order, so that
// lines for the same terminal do not mix, and without blocking.
#ifndef SPILLWAY_COMM_LAUNCH_LINE_QUEUE_H_
#define SPILLWAY_COMM_LAUNCH_LINE_QUEUE_H_

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace spillway {

// Borrows the descriptors. Requires: SIGPIPE is ignored.
class LineQueue {
 public:
  // Text of at most 64 KiB more should be added only if it is not full.
  static constexpr size_t kFullBytes = size_t{1} << 20;

  void Add(int fd, std::string_view text);

  bool is_empty() const { return parts_.empty(); }
  bool is_full() const { return bytes_ >= kFullBytes; }

  // The descriptor that has to be writable next. Requires: not empty.
  int next_fd() const { return parts_.front().fd; }
  // Writes a part that a writable descriptor takes without blocking. Requires:
  // not empty.
  void WriteSome();
  // Leaves all text out.
  void Clear();

  // The first error of a descriptor, or of Fail; then text is left out.
  const absl::Status& status() const { return status_; }
  void Fail(const absl::Status& status);

 private:
  struct Part {
    int fd = -1;
    std::string text = {};
  };
  std::deque<Part> parts_;
  size_t written_ = 0;  // of the first part
  size_t bytes_ = 0;    // of all parts, without what is written
  absl::Status status_;
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_LAUNCH_LINE_QUEUE_H_
