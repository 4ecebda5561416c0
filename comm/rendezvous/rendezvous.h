// The meeting of a run's ranks in a KeyValueStore: who is there, before they
// are connected, and why the run has ended, when connections break.
#ifndef SPILLWAY_COMM_RENDEZVOUS_RENDEZVOUS_H_
#define SPILLWAY_COMM_RENDEZVOUS_RENDEZVOUS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/ranks.h"
#include "comm/rendezvous/key_value_store.h"
#include "comm/rendezvous/tcp_store.h"

namespace spillway {

// Threads: any.
class Rendezvous {
 public:
  // The store that `identity` names; rank 0 serves the one of an address. None
  // for a run of one rank. INVALID_ARGUMENT if it names none; else the store's
  // errors.
  static absl::StatusOr<Rendezvous> Open(const RankIdentity& identity);

  // Returns when all ranks have come. Errors: ABORTED naming what differs;
  // DEADLINE_EXCEEDED naming a rank that is missing, and the place.
  absl::Status Meet(std::chrono::milliseconds timeout) const;

  // Sets a key: this rank waits in the call of this number. A second later,
  // returns the ranks that have not set theirs. A rank that waits in the call
  // before or after is not late: it waits for the same ranks.
  std::vector<int> FindLate(int64_t call) const;

  // Tells the others why this rank has ended, unless one has ended before.
  // Takes at most half a second.
  void SayEnd(const absl::Status& reason) const;

  // What the first rank that has ended said; waits up to a second for it. OK:
  // none has said anything.
  absl::Status FindEnd() const;

  // Rank 0 goes on serving for a second, so that others learn why it has ended.
  void Linger() const;

  // Null for a run of one rank.
  KeyValueStore* store() const { return store_.get(); }

 private:
  RankIdentity identity_ = {};
  std::unique_ptr<TcpStoreServer> server_ = {};  // null: another rank serves
  std::unique_ptr<KeyValueStore> store_ = {};
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_RENDEZVOUS_RENDEZVOUS_H_
