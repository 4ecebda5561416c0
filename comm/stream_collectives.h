// StreamCollectives: collective operations on the memory of GPUs, queued on
// their streams. A Communicator, whose own calls are on the host's memory, has
// them if its backend can (Communicator::streams).
//
//   host     Communicator       barriers, broadcasts, texts
//   GPU      StreamCollectives  the all-reduces of a step:
//            stream  -- kernel -- all-reduce -- kernel -->
//
// Queued work cannot return an error. So the calls of a step are made between
// Begin and End: meanwhile a lost or late rank is noticed by a thread, which
// gives the queued work up, so that the stream can be synchronised.
//
// Errors: as those of Communicator; after one, every later call returns it.
// Threads: one call at a time; Abort and statistics from any thread.
#ifndef SPILLWAY_COMM_STREAM_COLLECTIVES_H_
#define SPILLWAY_COMM_STREAM_COLLECTIVES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "comm/reduce_op.h"
#include "graph/dtype.h"

namespace spillway {

// A call that a captured graph repeats counts once.
struct StreamStatistics {
  int64_t calls = 0;
  int64_t bytes = 0;
};

class StreamCollectives {
 public:
  virtual ~StreamCollectives() = default;

  // The library, "nccl 2.28.9".
  virtual std::string name() const = 0;

  // data[i] <- the sum (largest, smallest) over all ranks of their data[i], on
  // the GPU with which this was opened. `stream` is a cudaStream_t of that GPU;
  // the call may be captured. All ranks queue the same calls in the same order,
  // and have the same bits afterwards. INVALID_ARGUMENT for bool.
  virtual absl::Status AllReduce(void* data, int64_t count, DType dtype,
                                 ReduceOp op, void* stream) = 0;

  // Around the calls of a step, or the launch of their graph, and the
  // synchronisation of their streams. End: the first error so far.
  virtual void Begin() = 0;
  virtual absl::Status End() = 0;

  // As Communicator::Abort.
  virtual void Abort(const absl::Status& reason) = 0;

  virtual StreamStatistics statistics() const = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_STREAM_COLLECTIVES_H_
