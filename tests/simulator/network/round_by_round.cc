#include "tests/simulator/network/round_by_round.h"

#include <algorithm>
#include <numeric>

namespace spillway::testing {
namespace {

size_t Index(int64_t n) { return static_cast<size_t>(n); }

// The member before or after another in a ring, by steps.
int64_t Around(int64_t place, int64_t steps, int64_t size) {
  return ((place + steps) % size + size) % size;
}

// Rings of equal size that run at the same time, each over pieces that are
// divided into as many runs as the ring has members.
struct Ring {
  std::vector<int64_t> members = {};  // ranks
  std::vector<size_t> pieces = {};
};

std::vector<size_t> RunOf(const Ring& ring, int64_t run) {
  const size_t each = ring.pieces.size() / ring.members.size();
  const auto first =
      ring.pieces.begin() + static_cast<ptrdiff_t>(Index(run) * each);
  return {first, first + static_cast<ptrdiff_t>(each)};
}

// In round s, member i sends run i - s + `ahead` to member i + 1.
void PlayRings(const std::vector<Ring>& rings, bool is_added, int64_t ahead,
               RoundByRound& play) {
  const auto size = static_cast<int64_t>(rings[0].members.size());
  for (int64_t s = 0; s + 1 < size; ++s) {
    Round round;
    for (const Ring& ring : rings) {
      for (int64_t i = 0; i < size; ++i) {
        round.push_back({.from = ring.members[Index(i)],
                         .to = ring.members[Index(Around(i, 1, size))],
                         .pieces = RunOf(ring, Around(i, ahead - s, size)),
                         .is_added = is_added});
      }
    }
    play.Play(round);
  }
}

// Afterwards, member i has the sum of run i + 1.
void ScatterSums(const std::vector<Ring>& rings, RoundByRound& play) {
  PlayRings(rings, /*is_added=*/true, 0, play);
}
void GatherRuns(const std::vector<Ring>& rings, RoundByRound& play) {
  PlayRings(rings, /*is_added=*/false, 1, play);
}

std::vector<size_t> FirstPieces(size_t count) {
  std::vector<size_t> pieces(count);
  std::iota(pieces.begin(), pieces.end(), size_t{0});
  return pieces;
}

// Messages of trees over groups of ranks at the same time, the root first:
// distances 1, 2, 4, ... towards the root, or in the other order away from it.
void PlayTrees(const std::vector<std::vector<int64_t>>& groups, bool is_up,
               RoundByRound& play) {
  size_t largest = 0;
  for (const auto& group : groups) largest = std::max(largest, group.size());
  std::vector<size_t> distances;
  for (size_t d = 1; d < largest; d *= 2) distances.push_back(d);
  if (!is_up) std::ranges::reverse(distances);
  for (const size_t distance : distances) {
    Round round;
    for (const std::vector<int64_t>& group : groups) {
      for (size_t i = distance; i < group.size(); i += 2 * distance) {
        const int64_t lower = group[i - distance];
        round.push_back({.from = is_up ? group[i] : lower,
                         .to = is_up ? lower : group[i],
                         .pieces = {0},
                         .is_added = is_up});
      }
    }
    play.Play(round);
  }
}

std::vector<std::vector<int64_t>> RanksByHost(const NetworkModel& network) {
  std::vector<std::vector<int64_t>> hosts;
  for (int64_t rank = 0; rank < network.ranks; ++rank) {
    if (rank % network.ranks_per_host == 0) hosts.emplace_back();
    hosts.back().push_back(rank);
  }
  return hosts;
}

std::vector<int64_t> FirstRanks(
    const std::vector<std::vector<int64_t>>& hosts) {
  std::vector<int64_t> first;
  first.reserve(hosts.size());
  for (const std::vector<int64_t>& host : hosts) first.push_back(host[0]);
  return first;
}

RoundByRound PlayRing(const NetworkModel& network, double bytes) {
  RoundByRound play(network, bytes, Index(network.ranks));
  Ring ring = {.pieces = FirstPieces(Index(network.ranks))};
  for (int64_t rank = 0; rank < network.ranks; ++rank) {
    ring.members.push_back(rank);
  }
  ScatterSums({ring}, play);
  GatherRuns({ring}, play);
  return play;
}

RoundByRound PlayTree(const NetworkModel& network, double bytes) {
  RoundByRound play(network, bytes, 1);
  const auto hosts = RanksByHost(network);
  PlayTrees(hosts, /*is_up=*/true, play);
  PlayTrees({FirstRanks(hosts)}, /*is_up=*/true, play);
  PlayTrees({FirstRanks(hosts)}, /*is_up=*/false, play);
  PlayTrees(hosts, /*is_up=*/false, play);
  return play;
}

RoundByRound PlayHierarchical(const NetworkModel& network, double bytes) {
  const auto hosts = RanksByHost(network);
  const size_t pieces = hosts.size() * hosts[0].size();
  RoundByRound play(network, bytes, pieces);
  std::vector<Ring> within;
  within.reserve(hosts.size());
  for (const std::vector<int64_t>& host : hosts) {
    within.push_back({.members = host, .pieces = FirstPieces(pieces)});
  }
  std::vector<Ring> between;
  const auto local = static_cast<int64_t>(hosts[0].size());
  for (int64_t i = 0; i < local; ++i) {
    Ring ring = {.pieces = RunOf(within[0], Around(i, 1, local))};
    for (const std::vector<int64_t>& host : hosts) {
      ring.members.push_back(host[Index(i)]);
    }
    between.push_back(ring);
  }
  ScatterSums(within, play);
  ScatterSums(between, play);
  GatherRuns(between, play);
  GatherRuns(within, play);
  return play;
}

}  // namespace

RoundByRound::RoundByRound(const NetworkModel& network, double bytes,
                           size_t pieces)
    : network_(network), piece_bytes_(bytes / static_cast<double>(pieces)) {
  for (int64_t rank = 0; rank < network.ranks; ++rank) {
    Piece own(Index(network.ranks), 0);
    own[Index(rank)] = 1;
    held_.emplace_back(pieces, own);
  }
}

double RoundByRound::TimeOf(const Message& message, const Round& round) const {
  const int64_t from = HostOf(message.from);
  const int64_t to = HostOf(message.to);
  const double bytes =
      piece_bytes_ * static_cast<double>(message.pieces.size());
  if (from == to) {
    return static_cast<double>(network_.within_host.latency_ns) +
           bytes / (network_.within_host.bytes_per_second / 1e9);
  }
  const auto leaving = std::ranges::count_if(round, [&](const Message& other) {
    return HostOf(other.from) == from && HostOf(other.to) != from;
  });
  const auto arriving = std::ranges::count_if(round, [&](const Message& other) {
    return HostOf(other.to) == to && HostOf(other.from) != to;
  });
  const auto sharing = static_cast<double>(std::max(leaving, arriving));
  return static_cast<double>(network_.between_hosts.latency_ns) +
         bytes / (network_.between_hosts.bytes_per_second / sharing / 1e9);
}

void RoundByRound::Play(const Round& round) {
  const std::vector<std::vector<Piece>> sent = held_;
  double slowest = 0;
  for (const Message& message : round) {
    slowest = std::max(slowest, TimeOf(message, round));
    for (const size_t piece : message.pieces) {
      const Piece& from = sent[Index(message.from)][piece];
      Piece& to = held_[Index(message.to)][piece];
      if (!message.is_added) to.assign(to.size(), 0);
      for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    }
  }
  ns_ += slowest;
}

bool RoundByRound::EachHasTheSum() const {
  return std::ranges::all_of(held_, [](const std::vector<Piece>& of_rank) {
    return std::ranges::all_of(of_rank, [](const Piece& piece) {
      return std::ranges::count(piece, 1) ==
             static_cast<ptrdiff_t>(piece.size());
    });
  });
}

RoundByRound PlayAllReduce(const NetworkModel& network,
                           AllReduceAlgorithm algorithm, double bytes) {
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return PlayRing(network, bytes);
    case AllReduceAlgorithm::kTree:
      return PlayTree(network, bytes);
    case AllReduceAlgorithm::kHierarchical:
      break;
  }
  return PlayHierarchical(network, bytes);
}

RoundByRound PlayAllGather(const NetworkModel& network, double bytes) {
  const auto ranks = static_cast<double>(network.ranks);
  RoundByRound play(network, bytes * ranks, Index(network.ranks));
  Ring ring = {.pieces = FirstPieces(Index(network.ranks))};
  for (int64_t rank = 0; rank < network.ranks; ++rank) {
    ring.members.push_back(rank);
  }
  // Member i has run i.
  PlayRings({ring}, /*is_added=*/false, 0, play);
  return play;
}

RoundByRound PlayBroadcast(const NetworkModel& network, double bytes) {
  RoundByRound play(network, bytes, 1);
  const auto hosts = RanksByHost(network);
  PlayTrees({FirstRanks(hosts)}, /*is_up=*/false, play);
  PlayTrees(hosts, /*is_up=*/false, play);
  return play;
}

}  // namespace spillway::testing
