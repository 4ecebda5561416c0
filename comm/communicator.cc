#include "comm/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "comm/reduce.h"
#include "fmt/ranges.h"
#include "spdlog/spdlog.h"

namespace spillway {
namespace {

constexpr int64_t kMaxTextBytes = int64_t{64} << 20;

// Of a sum in the order of the ranks: what each of them gathers at once.
constexpr int64_t kOrderedBytes = int64_t{1} << 20;

// Calls work(first, count) for one part after the other.
template <typename Work>
absl::Status InParts(int64_t count, int64_t most, const Work& work) {
  for (int64_t first = 0; first < count; first += most) {
    SPILLWAY_RETURN_IF_ERROR(work(first, std::min(most, count - first)));
  }
  return absl::OkStatus();
}

}  // namespace

// What the ranks compare, as bytes.
struct Communicator::Call {
  enum class Kind : int64_t { kAllReduce, kBroadcast, kAllGather, kBarrier };

  Kind kind = Kind::kBarrier;
  int64_t bytes = 0;
  int64_t detail = 0;  // type and op, or root

  std::string ToString() const {
    constexpr std::array<const char*, 4> kNames = {"all-reduce", "broadcast",
                                                   "all-gather", "barrier"};
    const char* const name = kNames[static_cast<size_t>(kind)];
    if (kind == Kind::kBarrier) return name;
    std::string text = fmt::format("{} of {} bytes", name, bytes);
    if (kind == Kind::kBroadcast) {
      text += fmt::format(" from rank {}", detail);
    }
    if (kind == Kind::kAllReduce) {
      text +=
          fmt::format(" ({}, {})", DTypeName(static_cast<DType>(detail / 256)),
                      ReduceOpName(static_cast<ReduceOp>(detail % 256)));
    }
    return text;
  }

  // What a rank sends in a ring of `ranks`, one piece after the other.
  double RingBytes(int ranks) const {
    const auto sent = static_cast<double>(bytes);
    switch (kind) {
      case Kind::kAllReduce:
        return 2 * sent * (ranks - 1) / ranks;
      case Kind::kAllGather:
        return sent * (ranks - 1);
      case Kind::kBroadcast:
        return ranks > 1 ? sent : 0;
      case Kind::kBarrier:
        return 0;
    }
    return 0;
  }

  friend bool operator==(const Call&, const Call&) = default;
};

std::string_view ReduceOpName(ReduceOp op) {
  constexpr std::array<std::string_view, 3> kNames = {"sum", "max", "min"};
  return kNames[static_cast<size_t>(op)];
}

std::string RankNames(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                     fmt::join(ranks, ", "));
}

Communicator::Communicator(CommInfo info, const CommOptions& options)
    : info_(std::move(info)),
      options_(options),
      stall_watch_(options.warn_after,
                   [this](int64_t call) { ReportStall(call); }) {
  SPILLWAY_CHECK(info_.size >= 1);
  SPILLWAY_CHECK(info_.rank >= 0 && info_.rank < info_.size);
}

template <typename Work>
absl::Status Communicator::Run(const Call& call, const Work& work) {
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    number = ++statistics_.calls;
    statistics_.bytes += call.bytes;
    if (call.kind == Call::Kind::kAllGather) {
      statistics_.gathered_bytes += call.bytes;
    }
  }
  if (size() > 1) {
    running_ = &call;
    stall_watch_.Begin(number);
  }
  const auto start = std::chrono::steady_clock::now();
  absl::Status status =
      options_.check_calls ? CompareCalls(call) : absl::OkStatus();
  if (status.ok()) status = work();
  stall_watch_.End();
  if (status.ok() && options_.slow_bytes_per_second > 0) SlowDown(call);
  const std::chrono::nanoseconds waited =
      std::chrono::steady_clock::now() - start;
  const std::lock_guard lock(mutex_);
  statistics_.wait_ns += waited.count();
  // An abort says more than what it made of this call.
  if (!status_.ok()) return status_;
  status_ = Annotate(status, fmt::format("rank {}, call {}, {}", rank(), number,
                                         call.ToString()));
  return status_;
}

absl::Status Communicator::CompareCalls(const Call& call) {
  std::vector<Call> calls(static_cast<size_t>(size()));
  SPILLWAY_RETURN_IF_ERROR(
      DoAllGather(&call, calls.data(), static_cast<int64_t>(sizeof(Call))));
  const auto other = std::ranges::find_if(
      calls, [&](const Call& each) { return each != call; });
  if (other == calls.end()) return absl::OkStatus();
  return absl::AbortedError(fmt::format(
      "rank {} calls {} instead", other - calls.begin(), other->ToString()));
}

void Communicator::ReportStall(int64_t call) {
  const std::vector<int> late = FindLate(call);
  spdlog::warn("rank {}, call {}, {}, has waited for {} s{}", rank(), call,
               running_->ToString(),
               std::chrono::duration<double>(options_.warn_after).count(),
               late.empty() ? std::string()
                            : fmt::format("; late: {}", RankNames(late)));
}

void Communicator::SlowDown(const Call& call) {
  using Seconds = std::chrono::duration<double>;
  constexpr auto kSlice = std::chrono::milliseconds(50);
  const Seconds needed(call.RingBytes(size()) / options_.slow_bytes_per_second);
  const auto end =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(needed);
  for (auto now = std::chrono::steady_clock::now(); now < end;
       now = std::chrono::steady_clock::now()) {
    {
      const std::lock_guard lock(mutex_);
      if (!status_.ok()) return;  // aborted
    }
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(end - now, kSlice));
  }
}

absl::Status Communicator::AllReduce(void* data, int64_t count, DType dtype,
                                     ReduceOp op) {
  if (dtype == DType::kBool) {
    return InvalidArgument("all-reduce: bool has no sum");
  }
  const int64_t size_of = SizeOf(dtype);
  const Call call = {.kind = Call::Kind::kAllReduce,
                     .bytes = count * size_of,
                     .detail = int64_t{static_cast<uint8_t>(dtype)} * 256 +
                               static_cast<uint8_t>(op)};
  return Run(call, [&] {
    auto* bytes = static_cast<std::byte*>(data);
    if (options_.deterministic_reduce && size() > 1) {
      return ReduceInOrder(bytes, count, dtype, op);
    }
    return InParts(
        count, kMaxCallBytes / size_of, [&](int64_t first, int64_t part) {
          return DoAllReduce(bytes + first * size_of, part, dtype, op);
        });
  });
}

absl::Status Communicator::ReduceInOrder(std::byte* data, int64_t count,
                                         DType dtype, ReduceOp op) {
  const int64_t most = kOrderedBytes / SizeOf(dtype);
  std::vector<std::byte> gathered(
      static_cast<size_t>(std::min(count, most) * SizeOf(dtype) * size()));
  for (int64_t first = 0; first < count; first += most) {
    const int64_t part = std::min(most, count - first);
    const int64_t bytes = part * SizeOf(dtype);
    std::byte* const to = data + first * SizeOf(dtype);
    SPILLWAY_RETURN_IF_ERROR(DoAllGather(to, gathered.data(), bytes));
    std::memcpy(to, gathered.data(), static_cast<size_t>(bytes));
    for (int64_t rank = 1; rank < size(); ++rank) {
      ReduceInto(to, gathered.data() + rank * bytes, part, dtype, op);
    }
  }
  return absl::OkStatus();
}

absl::Status Communicator::Broadcast(void* data, int64_t bytes, int root) {
  if (root < 0 || root >= size()) {
    return InvalidArgument(fmt::format(
        "broadcast: there is no rank {} in a run of {}", root, size()));
  }
  const Call call = {
      .kind = Call::Kind::kBroadcast, .bytes = bytes, .detail = root};
  return Run(call, [&] {
    return InParts(bytes, kMaxCallBytes, [&](int64_t first, int64_t part) {
      return DoBroadcast(static_cast<std::byte*>(data) + first, part, root);
    });
  });
}

absl::Status Communicator::AllGather(const void* in, void* out, int64_t bytes) {
  const Call call = {.kind = Call::Kind::kAllGather, .bytes = bytes};
  if (bytes > kMaxCallBytes) {
    return InvalidArgument(fmt::format(
        "all-gather: {} bytes a rank; at most {}", bytes, kMaxCallBytes));
  }
  return Run(call, [&] {
    return bytes == 0 ? absl::OkStatus() : DoAllGather(in, out, bytes);
  });
}

absl::StatusOr<std::vector<std::string>> Communicator::AllGatherText(
    std::string_view text) {
  const auto length = static_cast<int64_t>(text.size());
  if (length > kMaxTextBytes) {
    return InvalidArgument(
        fmt::format("all-gather: a text of {} bytes; at "
                    "most {}",
                    length, kMaxTextBytes));
  }
  std::vector<int64_t> lengths(static_cast<size_t>(size()));
  SPILLWAY_RETURN_IF_ERROR(
      AllGather(&length, lengths.data(), static_cast<int64_t>(sizeof(length))));
  // Those of the other ranks come from the wire.
  const auto [least, most] = std::ranges::minmax_element(lengths);
  if (*least < 0 || *most > kMaxTextBytes) {
    const absl::Status error = absl::AbortedError(
        fmt::format("all-gather: a rank claims a text of {} bytes",
                    *least < 0 ? *least : *most));
    Abort(error);
    return error;
  }
  // Each text is padded to the longest.
  std::string padded(text);
  padded.resize(static_cast<size_t>(*most));
  std::string all(static_cast<size_t>(*most * size()), '\0');
  SPILLWAY_RETURN_IF_ERROR(AllGather(padded.data(), all.data(), *most));
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < lengths.size(); ++rank) {
    texts.push_back(all.substr(rank * static_cast<size_t>(*most),
                               static_cast<size_t>(lengths[rank])));
  }
  return texts;
}

absl::Status Communicator::Barrier() {
  return Run({.kind = Call::Kind::kBarrier}, [&] { return DoBarrier(); });
}

void Communicator::Abort(const absl::Status& reason) {
  SPILLWAY_CHECK(!reason.ok());
  {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = reason;
  }
  DoAbort(reason);
  if (streams_ != nullptr) streams_->Abort(reason);
}

void Communicator::SetStreams(std::unique_ptr<StreamCollectives> streams) {
  SPILLWAY_CHECK(streams_ == nullptr);
  streams_ = std::move(streams);
}

int64_t Communicator::call_number() const {
  const std::lock_guard lock(mutex_);
  return statistics_.calls;
}

CommStatistics Communicator::statistics() const {
  CommStatistics all;
  {
    const std::lock_guard lock(mutex_);
    all = statistics_;
  }
  if (streams_ == nullptr) return all;
  const StreamStatistics queued = streams_->statistics();
  all.calls += queued.calls;
  all.bytes += queued.bytes;
  return all;
}

int ThreadsOfRank(const Communicator& communicator) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / communicator.info().local_size);
}

}  // namespace spillway
