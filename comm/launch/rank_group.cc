#include "comm/launch/rank_group.h"

#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdint>
#include <utility>

#include "base/status_macros.h"
#include "comm/exit_status.h"
#include "comm/launch/rank_environment.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// 128 secret bits.
absl::StatusOr<std::string> NewRunId() {
  std::array<unsigned char, 16> bytes = {};
  if (getrandom(bytes.data(), bytes.size(), 0) != ssize_t{bytes.size()}) {
    return Internal("the system has no random bytes for the id of the run");
  }
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

std::string SignalText(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name)
                         : fmt::format("signal {}", signal);
}

}  // namespace

absl::Status RankGroup::Start() {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string run_id, NewRunId());
  ranks_.reserve(static_cast<size_t>(spec_.launch->ranks));
  for (int i = 0; i < spec_.launch->ranks; ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(Rank rank, StartRank(i, run_id));
    ranks_.push_back(std::move(rank));
  }
  return absl::OkStatus();
}

absl::StatusOr<RankGroup::Rank> RankGroup::StartRank(
    int rank, const std::string& run_id) {
  const LaunchSpec& launch = *spec_.launch;
  RankOutputSpec stream = {
      .queue = spec_.queue,
      .output = launch.output,
      .log = spec_.logs.empty() ? -1 : spec_.logs[static_cast<size_t>(rank)],
      .prefix = launch.ranks == 1 ? "" : fmt::format("[{}] ", rank)};
  SPILLWAY_ASSIGN_OR_RETURN(RankOutput output, RankOutput::Open(stream));
  stream.output = launch.error;
  SPILLWAY_ASSIGN_OR_RETURN(RankOutput error, RankOutput::Open(stream));
  SPILLWAY_ASSIGN_OR_RETURN(
      RankProcess process,
      RankProcess::Start(
          {.command = launch.command,
           .environment = RankEnvironment(InheritedEnvironment(),
                                          {.rank = rank,
                                           .size = launch.ranks,
                                           .run_id = run_id,
                                           .run_folder = spec_.run_folder,
                                           .restart = spec_.restart,
                                           .cores = UsableCores()}),
           .output = output.write_fd(),
           .error = error.write_fd(),
           .default_signals = spec_.signals->DefaultInChild(),
           .open_files = spec_.open_files}));
  output.CloseWriteEnd();
  error.CloseWriteEnd();
  return Rank{std::move(process), std::move(output), std::move(error)};
}

std::optional<RankFailure> RankGroup::Wait() {
  while (IsRunning()) {
    WaitForEvents();
    ReapRanks();
    PassSignals();
    if (!spec_.queue->status().ok()) EndRanks();
    KillAfterGrace();
  }
  return failure_;
}

bool RankGroup::IsRunning() const {
  return std::ranges::any_of(
      ranks_, [](const Rank& rank) { return rank.process.is_running(); });
}

// Waits for a signal, output of a rank, room for output, or the time to kill;
// reads and writes.
void RankGroup::WaitForEvents() {
  LineQueue& queue = *spec_.queue;
  std::vector<pollfd> events = {
      {.fd = spec_.signals->wake_fd(), .events = POLLIN, .revents = 0},
      {.fd = queue.is_empty() ? -1 : queue.next_fd(),
       .events = POLLOUT,
       .revents = 0}};
  std::vector<RankOutput*> streams;
  for (Rank& rank : ranks_) {
    for (RankOutput* stream : {&rank.output, &rank.error}) {
      if (queue.is_full() || stream->read_fd() < 0) continue;
      events.push_back(
          {.fd = stream->read_fd(), .events = POLLIN, .revents = 0});
      streams.push_back(stream);
    }
  }
  int timeout_ms = -1;
  if (kill_) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*kill_ - Clock::now());
    timeout_ms =
        static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT_MAX));
  }
  if (poll(events.data(), events.size(), timeout_ms) <= 0) return;
  if (events[0].revents != 0) spec_.signals->ClearWake();
  if (events[1].revents != 0) queue.WriteSome();
  for (size_t i = 0; i < streams.size() && !queue.is_full(); ++i) {
    if (events[i + 2].revents != 0) streams[i]->Read();
  }
}

void RankGroup::ReapRanks() {
  std::optional<RankFailure> found;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const std::optional<RankEnd> end = ranks_[i].process.Poll();
    if (!end) continue;
    ranks_[i].output.Finish();
    ranks_[i].error.Finish();
    const auto failure = FailureOf(static_cast<int>(i), *end);
    if (!failure) continue;
    if (!found || (found->is_consequence && !failure->is_consequence)) {
      found = failure;
    }
  }
  if (!found || is_ending_) return;
  failure_ = found;
  if (!IsRunning()) return;
  Say(fmt::format("{}; the other ranks are ended", found->reason));
  EndRanks();
}

// After a signal to this process, a rank may end by it, or with its status.
std::optional<RankFailure> RankGroup::FailureOf(int rank,
                                                const RankEnd& end) const {
  const int asked = spec_.signals->first();
  if (asked != 0 && (end.signal == asked || end.exit_status == 128 + asked)) {
    return std::nullopt;
  }
  if (end.signal != 0) {
    return RankFailure{.rank = rank,
                       .exit_status = kRankLostStatus,
                       .reason = fmt::format("rank {} was ended by {}", rank,
                                             SignalText(end.signal))};
  }
  if (end.exit_status == 0) return std::nullopt;
  return RankFailure{.rank = rank,
                     .exit_status = end.exit_status,
                     .is_consequence = end.exit_status == kRankLateStatus ||
                                       end.exit_status == kRankLostStatus,
                     .reason = fmt::format("rank {} ended with exit status {}",
                                           rank, end.exit_status)};
}

void RankGroup::PassSignals() {
  const int signal = spec_.signals->first();
  if (signal == 0) return;
  if (!std::exchange(is_signal_passed_, true)) Send(signal);
  if (!spec_.signals->has_second()) return;
  is_ending_ = true;
  Send(SIGKILL);
}

void RankGroup::EndRanks() {
  if (std::exchange(is_ending_, true)) return;
  Send(SIGTERM);
  kill_ = Clock::now() + spec_.launch->grace;
}

void RankGroup::KillAfterGrace() {
  if (!kill_ || Clock::now() < *kill_) return;
  kill_.reset();
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i].process.is_running()) continue;
    Say(fmt::format(
        "rank {} has not ended {} s after SIGTERM; it is killed", i,
        std::chrono::duration<double>(spec_.launch->grace).count()));
  }
  Send(SIGKILL);
}

void RankGroup::Send(int signal) const {
  for (const Rank& rank : ranks_) rank.process.Send(signal);
}

void RankGroup::Say(const std::string& message) {
  spec_.queue->Add(spec_.launch->error, fmt::format("spillway: {}\n", message));
}

}  // namespace spillway
