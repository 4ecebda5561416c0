// Runs a function once for each rank of a run of threads.
#ifndef SPILLWAY_TESTS_COMM_RUN_RANKS_H_
#define SPILLWAY_TESTS_COMM_RUN_RANKS_H_

#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/thread_communicator.h"

namespace spillway::testing {

// What it returned, by rank. A rank leaves when its function has returned.
inline std::vector<absl::Status> RunRanks(
    int size, const CommOptions& options,
    const std::function<absl::Status(Communicator&)>& run) {
  auto communicators = NewThreadCommunicators(size, options);
  std::vector<absl::Status> results(communicators.size());
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      results[rank] = run(*communicators[rank]);
      communicators[rank].reset();
    });
  }
  threads.clear();  // joins
  return results;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_COMM_RUN_RANKS_H_
