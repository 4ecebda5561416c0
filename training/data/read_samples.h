// Reads some samples of a dataset, on several threads.
#ifndef SPILLWAY_TRAINING_DATA_READ_SAMPLES_H_
#define SPILLWAY_TRAINING_DATA_READ_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "training/data/dataset.h"

namespace spillway {

struct ReadSamplesOptions {
  int64_t epoch = 0;
  // 0: dataset.reader_threads(). The caller's thread is one of them; the others
  // are started and joined by the call.
  int threads = 0;
};

// Writes field f of sample indices[i] to buffers[f] + i * (bytes of field f).
// What is written does not depend on the number of threads. If the system can
// start no more threads, fewer are used.
//
// Errors: that of the lowest i whose sample cannot be read, naming the sample;
// what a Read throws is an error as in Dataset::Get. The buffers are then
// partly written.
absl::Status ReadSamples(const Dataset& dataset,
                         std::span<const int64_t> indices,
                         std::span<std::byte* const> buffers,
                         const ReadSamplesOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_READ_SAMPLES_H_
