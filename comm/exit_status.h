// Exit statuses by which the ranks of a run tell their launcher what they have
// learned of each other (docs/workers.md).
#ifndef SPILLWAY_COMM_EXIT_STATUS_H_
#define SPILLWAY_COMM_EXIT_STATUS_H_

#include <optional>

#include "absl/status/status.h"

namespace spillway {

inline constexpr int kRanksDisagreeStatus = 5;
// Consequences of another rank's failure.
inline constexpr int kRankLateStatus = 75;
inline constexpr int kRankLostStatus = 76;

// That of an error of a Communicator; nullopt for other codes.
inline std::optional<int> RankExitStatus(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return kRankLateStatus;
    case absl::StatusCode::kUnavailable:
      return kRankLostStatus;
    case absl::StatusCode::kAborted:
      return kRanksDisagreeStatus;
    default:
      return std::nullopt;
  }
}

}  // namespace spillway

#endif  // SPILLWAY_COMM_EXIT_STATUS_H_
