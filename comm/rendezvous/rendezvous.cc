#include "comm/rendezvous/rendezvous.h"

#include <fmt/format.h>

#include <string>
#include <thread>
#include <utility>

#include "base/status_macros.h"
#include "comm/rendezvous/folder_store.h"
#include "comm/rendezvous/handshake.h"

namespace spillway {
namespace {

constexpr const char* kEndKey = "end";
constexpr auto kTellTime = std::chrono::milliseconds(500);
constexpr auto kAskTime = std::chrono::milliseconds(1000);
constexpr auto kLookTime = std::chrono::milliseconds(20);

std::string GreetingKey(int rank) { return fmt::format("greeting_{}", rank); }

std::string WaitingKey(int64_t call, int rank) {
  return fmt::format("waiting_{}_{}", call, rank);
}

std::chrono::steady_clock::time_point After(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

}  // namespace

absl::StatusOr<Rendezvous> Rendezvous::Open(const RankIdentity& identity) {
  Rendezvous result;
  result.identity_ = identity;
  if (identity.size == 1) return result;
  if (!identity.rendezvous_folder.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(
        result.store_,
        OpenFolderStore(identity.rendezvous_folder, identity.run_id));
    return result;
  }
  if (identity.rendezvous_address.empty()) {
    return InvalidArgument(fmt::format(
        "rank {} of {} has no rendezvous: set SPILLWAY_RENDEZVOUS to a folder "
        "that all ranks see, or to host:port",
        identity.rank, identity.size));
  }
  if (identity.rank == 0) {
    SPILLWAY_ASSIGN_OR_RETURN(
        result.server_,
        ServeTcpStore(identity.rendezvous_address, identity.run_id));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      result.store_,
      OpenTcpStore(identity.rendezvous_address, identity.run_id));
  return result;
}

absl::Status Rendezvous::Meet(std::chrono::milliseconds timeout) const {
  if (store_ == nullptr) return absl::OkStatus();
  const auto deadline = After(timeout);
  const std::string mine = EncodeGreeting(identity_);
  const absl::Status told =
      store_->Set(GreetingKey(identity_.rank), mine, deadline);
  if (absl::IsAlreadyExists(told)) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const std::string other,
        store_->Get(GreetingKey(identity_.rank), deadline));
    return DuplicateRank(mine, other);
  }
  SPILLWAY_RETURN_IF_ERROR(told);
  for (int rank = 0; rank < identity_.size; ++rank) {
    const auto other = store_->Get(GreetingKey(rank), deadline);
    if (absl::IsDeadlineExceeded(other.status())) {
      return absl::DeadlineExceededError(
          fmt::format("rank {} has not come to {} within {} ms", rank,
                      store_->name(), timeout.count()));
    }
    SPILLWAY_RETURN_IF_ERROR(other.status());
    SPILLWAY_RETURN_IF_ERROR(CompareGreetings(mine, *other, rank));
  }
  return absl::OkStatus();
}

std::vector<int> Rendezvous::FindLate(int64_t call) const {
  if (store_ == nullptr) return {};
  store_->Set(WaitingKey(call, identity_.rank), "1", After(kTellTime))
      .IgnoreError();  // may be there from an earlier question
  std::this_thread::sleep_for(kAskTime);
  const auto waits = [&](int rank, int64_t in_call) {
    return store_->Get(WaitingKey(in_call, rank), After(kLookTime)).ok();
  };
  std::vector<int> late;
  for (int rank = 0; rank < identity_.size; ++rank) {
    if (rank == identity_.rank || waits(rank, call) || waits(rank, call - 1) ||
        waits(rank, call + 1)) {
      continue;
    }
    late.push_back(rank);
  }
  return late;
}

void Rendezvous::SayEnd(const absl::Status& reason) const {
  if (store_ == nullptr) return;
  const std::string text = fmt::format("{} {}", static_cast<int>(reason.code()),
                                       std::string(reason.message()));
  // An earlier end is the first; a store that cannot be reached helps nobody.
  store_
      ->Set(kEndKey, text.substr(0, KeyValueStore::kMaxBytes), After(kTellTime))
      .IgnoreError();
}

absl::Status Rendezvous::FindEnd() const {
  if (store_ == nullptr) return absl::OkStatus();
  const auto text = store_->Get(kEndKey, After(kAskTime));
  if (!text.ok()) return absl::OkStatus();
  const size_t space = text->find(' ');
  if (space == std::string::npos) return absl::OkStatus();
  // The store's texts come from the network.
  const std::string message = text->substr(space + 1);
  for (const auto code :
       {absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kAborted}) {
    if (text->substr(0, space) == fmt::format("{}", static_cast<int>(code))) {
      return {code, message};
    }
  }
  return Unavailable(message);
}

void Rendezvous::Linger() const {
  if (server_ != nullptr) std::this_thread::sleep_for(kAskTime);
}

}  // namespace spillway
