// KeyValueStore: where the ranks of a run tell each other their addresses
// before they are connected, and why the run has ended after that.
#ifndef SPILLWAY_COMM_RENDEZVOUS_KEY_VALUE_STORE_H_
#define SPILLWAY_COMM_RENDEZVOUS_KEY_VALUE_STORE_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace spillway {

// Of one run: keys of other runs are not seen.
//
// Values stay as they are first set. Keys and values are bytes, at most
// kMaxBytes each. Threads: any.
class KeyValueStore {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  static constexpr size_t kMaxBytes = size_t{1} << 20;

  virtual ~KeyValueStore() = default;

  // ALREADY_EXISTS if the key is set.
  virtual absl::Status Set(const std::string& key, const std::string& value,
                           Deadline deadline) = 0;

  // Waits until the key is set; DEADLINE_EXCEEDED naming key and store.
  virtual absl::StatusOr<std::string> Get(const std::string& key,
                                          Deadline deadline) = 0;

  // "the folder /tmp/run", "localhost:2900"
  virtual const std::string& name() const = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_RENDEZVOUS_KEY_VALUE_STORE_H_
