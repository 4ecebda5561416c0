// A naive twin of the closed forms of simulator/network/network_model.h: sends
// every message of every round, moves what the messages hold, and adds up the
// times of the rounds.
#ifndef SPILLWAY_TESTS_SIMULATOR_NETWORK_ROUND_BY_ROUND_H_
#define SPILLWAY_TESTS_SIMULATOR_NETWORK_ROUND_BY_ROUND_H_

#include <cstdint>
#include <vector>

#include "simulator/network/network_model.h"

namespace spillway::testing {

// A buffer in equal pieces on every rank: how often each rank's own numbers are
// in the sum that the piece holds, by rank.
using Piece = std::vector<int>;

struct Message {
  int64_t from = 0;  // ranks
  int64_t to = 0;
  std::vector<size_t> pieces = {};
  bool is_added = false;  // to what the receiver has; else replaces it
};
using Round = std::vector<Message>;

class RoundByRound {
 public:
  // `bytes` on each rank, in `pieces` pieces. Each rank holds its own numbers.
  RoundByRound(const NetworkModel& network, double bytes, size_t pieces);

  // All messages of a round are sent before any of them arrives.
  void Play(const Round& round);

  double ns() const { return ns_; }
  // By rank, then by piece.
  const std::vector<std::vector<Piece>>& held() const { return held_; }
  // Whether every piece on every rank is the sum over all ranks.
  bool EachHasTheSum() const;

 private:
  int64_t HostOf(int64_t rank) const { return rank / network_.ranks_per_host; }
  double TimeOf(const Message& message, const Round& round) const;

  const NetworkModel network_;
  const double piece_bytes_;
  std::vector<std::vector<Piece>> held_;
  double ns_ = 0;
};

// The rounds of an all-reduce, played. `network`: whose ranks fill the hosts if
// the algorithm is hierarchical.
RoundByRound PlayAllReduce(const NetworkModel& network,
                           AllReduceAlgorithm algorithm, double bytes);
// Piece r begins as rank r's.
RoundByRound PlayAllGather(const NetworkModel& network, double bytes);
// From rank 0.
RoundByRound PlayBroadcast(const NetworkModel& network, double bytes);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SIMULATOR_NETWORK_ROUND_BY_ROUND_H_
