// What the ranks tell each other at opening, so that processes that do not
// belong together end with a message instead of a wrong result.
#ifndef SPILLWAY_COMM_RENDEZVOUS_HANDSHAKE_H_
#define SPILLWAY_COMM_RENDEZVOUS_HANDSHAKE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "comm/ranks.h"

namespace spillway {

// Rank, size, host, run id and program version of this process, a line each.
std::string EncodeGreeting(const RankIdentity& identity);

// Compares it with the greeting that rank `rank` of the same run has given.
// ABORTED naming what differs, and both hosts.
absl::Status CompareGreetings(std::string_view mine, std::string_view other,
                              int rank);

// Two processes have this greeting's rank. ABORTED naming both hosts.
absl::Status DuplicateRank(std::string_view mine, std::string_view other);

}  // namespace spillway

#endif  // SPILLWAY_COMM_RENDEZVOUS_HANDSHAKE_H_
