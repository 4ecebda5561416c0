// One stream of a rank: from its pipe, by lines, to a queue and a log file.
#ifndef SPILLWAY_COMM_LAUNCH_RANK_OUTPUT_H_
#define SPILLWAY_COMM_LAUNCH_RANK_OUTPUT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/launch/file_descriptor.h"
#include "comm/launch/line_queue.h"

namespace spillway {

struct RankOutputSpec {
  LineQueue* queue = nullptr;  // borrowed
  int output = 1;              // to which the queue writes
  int log = -1;                // an open file; -1: none
  std::string prefix = {};     // of each line; "": bytes pass unchanged
};

class RankOutput {
 public:
  // Longer lines are divided.
  static constexpr size_t kLineBytes = size_t{64} << 10;

  // FAILED_PRECONDITION if there is no pipe.
  static absl::StatusOr<RankOutput> Open(const RankOutputSpec& spec);

  // For the rank's process; CloseWriteEnd once that has it.
  int write_fd() const { return write_end_.fd(); }
  void CloseWriteEnd() { write_end_.Close(); }

  // -1 from the end of the stream on
  int read_fd() const { return read_end_.fd(); }
  // Takes at most kLineBytes from the pipe, without blocking. At the end of the
  // stream, ends a line without an end.
  void Read();
  // Takes all that is there, then ends the stream: other processes may keep the
  // pipe open.
  void Finish();

 private:
  explicit RankOutput(const RankOutputSpec& spec) : spec_(spec) {}
  // False: nothing is there.
  bool TakeBytes();
  void Add(std::string_view bytes);
  void AddLine(std::string_view line);
  void Log(std::string_view bytes);
  void EndStream();

  RankOutputSpec spec_;
  FileDescriptor read_end_;
  FileDescriptor write_end_;
  std::string line_;  // the beginning of one; less than kLineBytes
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_LAUNCH_RANK_OUTPUT_H_
