#include "comm/gloo_communicator.h"

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <net/if.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "comm/gloo_context.h"
#include "comm/reduce.h"
#include "comm/rendezvous/rendezvous.h"

namespace spillway {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Gloo writes to connections that may be closed, without MSG_NOSIGNAL: the
// signal is blocked meanwhile, also in threads that Gloo starts meanwhile.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }

  ~SigpipeBlocked() {
    if (!was_pending_) {
      const timespec no_time = {};
      while (sigtimedwait(&sigpipe_, nullptr, &no_time) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  bool was_pending_ = false;
  sigset_t sigpipe_ = {};
  sigset_t before_ = {};
};

// A Status on its way through Gloo.
class StoreFailure : public std::exception {
 public:
  explicit StoreFailure(absl::Status status) : status_(std::move(status)) {}
  const char* what() const noexcept override { return "the rendezvous failed"; }
  const absl::Status& status() const { return status_; }

 private:
  const absl::Status status_;
};

// A KeyValueStore as Gloo wants it, with one deadline for all its requests
// instead of Gloo's 30 s. The store of a single rank is null.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(KeyValueStore* store, KeyValueStore::Deadline deadline)
      : store_(store), deadline_(deadline) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (store_ == nullptr) return;
    const absl::Status status =
        store_->Set("gloo_" + key, {data.begin(), data.end()}, deadline_);
    if (!status.ok()) throw StoreFailure(status);
  }

  std::vector<char> get(const std::string& key) override {
    if (store_ == nullptr) return {};
    const auto value = store_->Get("gloo_" + key, deadline_);
    if (!value.ok()) throw StoreFailure(value.status());
    return {value->begin(), value->end()};
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }

  void wait(const std::vector<std::string>& keys,
            const Milliseconds& /*timeout*/) override {
    wait(keys);
  }

 private:
  KeyValueStore* const store_;
  const KeyValueStore::Deadline deadline_;
};

// Gloo has one exception for all that can happen to a connection.
absl::Status ToStatus(const std::exception& exception) {
  if (const auto* failure = dynamic_cast<const StoreFailure*>(&exception)) {
    return failure->status();
  }
  const std::string text = exception.what();
  // "Timed out waiting 3000ms for recv operation to complete"; "Connect
  // timeout"
  const bool is_late = text.find("Timed out") != std::string::npos ||
                       text.find("Connect timeout") != std::string::npos;
  return is_late ? absl::DeadlineExceededError(text) : Unavailable(text);
}

// The only place where Gloo's exceptions end.
template <typename Work>
absl::Status RunGloo(const Work& work) {
  const SigpipeBlocked sigpipe_blocked;
  try {
    work();
    return absl::OkStatus();
  } catch (const std::exception& exception) {
    return ToStatus(exception);
  }
}

template <typename T>
void SetReducedData(gloo::AllreduceOptions& call, void* data, int64_t count) {
  call.setOutput(static_cast<T*>(data), static_cast<size_t>(count));
}

// Gloo sees elements by their size only.
void SetReducedData(gloo::AllreduceOptions& call, void* data, int64_t count,
                    int64_t size_of) {
  if (size_of == 1) return SetReducedData<uint8_t>(call, data, count);
  if (size_of == 2) return SetReducedData<uint16_t>(call, data, count);
  if (size_of == 4) return SetReducedData<uint32_t>(call, data, count);
  SetReducedData<uint64_t>(call, data, count);
}

// to <- a op b; `to` may be one of them.
void Combine(void* to, const void* a, const void* b, size_t count, DType dtype,
             ReduceOp op) {
  const auto elements = static_cast<int64_t>(count);
  if (to == b) return ReduceInto(to, a, elements, dtype, op);
  if (to != a) {
    std::memcpy(to, a, static_cast<size_t>(elements * SizeOf(dtype)));
  }
  ReduceInto(to, b, elements, dtype, op);
}

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(CommInfo info, const CommOptions& options,
                   Rendezvous rendezvous,
                   std::shared_ptr<gloo::Context> context)
      : Communicator(std::move(info), options),
        rendezvous_(std::move(rendezvous)),
        context_(std::move(context)) {}

  ~GlooCommunicator() override {
    if (has_ended_) {
      rendezvous_.Linger();
    } else {
      End(absl::UnavailableError("it has left"));
    }
    // Unsent bytes may still be written.
    const SigpipeBlocked sigpipe_blocked;
    context_.reset();
  }

  absl::Status FindEnd() const override { return rendezvous_.FindEnd(); }

 protected:
  // In a ring, each element is summed along one chain of ranks and then handed
  // around, so all ranks have the same bits.
  absl::Status DoAllReduce(void* data, int64_t count, DType dtype,
                           ReduceOp op) override {
    return Call([&] {
      gloo::AllreduceOptions call(context_);
      call.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      SetReducedData(call, data, count, SizeOf(dtype));
      call.setReduceFunction(
          [dtype, op](void* to, const void* a, const void* b, size_t elements) {
            Combine(to, a, b, elements, dtype, op);
          });
      call.setTimeout(options().timeout);
      gloo::allreduce(call);
    });
  }

  absl::Status DoBroadcast(void* data, int64_t bytes, int root) override {
    return Call([&] {
      gloo::BroadcastOptions call(context_);
      call.setOutput(static_cast<uint8_t*>(data), static_cast<size_t>(bytes));
      call.setRoot(root);
      call.setTimeout(options().timeout);
      gloo::broadcast(call);
    });
  }

  absl::Status DoAllGather(const void* in, void* out, int64_t bytes) override {
    return Call([&] {
      gloo::AllgatherOptions call(context_);
      // Only read.
      call.setInput(static_cast<uint8_t*>(const_cast<void*>(in)),
                    static_cast<size_t>(bytes));
      call.setOutput(static_cast<uint8_t*>(out),
                     static_cast<size_t>(bytes * size()));
      call.setTimeout(options().timeout);
      gloo::allgather(call);
    });
  }

  absl::Status DoBarrier() override {
    return Call([&] {
      gloo::BarrierOptions call(context_);
      call.setTimeout(options().timeout);
      gloo::barrier(call);
    });
  }

  std::vector<int> FindLate(int64_t call) override {
    return rendezvous_.FindLate(call);
  }

  void DoAbort(const absl::Status& reason) override {
    End(absl::AbortedError(std::string(reason.message())));
  }

 private:
  template <typename Work>
  absl::Status Call(const Work& work) {
    absl::Status status = RunGloo(work);
    if (status.ok()) return status;
    if (absl::IsUnavailable(status)) {
      // A connection breaks if its rank is lost, and also if that rank has
      // given up.
      const absl::Status end = rendezvous_.FindEnd();
      if (!end.ok()) {
        has_ended_ = true;
        CloseConnections();
        return end;
      }
    }
    if (absl::IsDeadlineExceeded(status)) {
      const std::vector<int> late = FindLate(call_number());
      if (!late.empty()) {
        status = Annotate(status, fmt::format("late: {}", RankNames(late)));
      }
    }
    End(status);
    return status;
  }

  // The reason is there before connections are closed, so that those who see
  // that find it.
  void End(const absl::Status& reason) {
    has_ended_ = true;
    rendezvous_.SayEnd(Annotate(reason, fmt::format("rank {}", rank())));
    CloseConnections();
  }

  // Gloo closes all connections, with an error for those who wait, if nothing
  // has arrived in time: here, a byte that nobody sends. (closeConnections()
  // would leave this rank's calls waiting.)
  void CloseConnections() {
    RunGloo([this] {
      char byte = 0;
      context_->createUnboundBuffer(&byte, 1)->waitRecv(Milliseconds(1));
    }).IgnoreError();
  }

  const Rendezvous rendezvous_;
  std::shared_ptr<gloo::Context> context_;
  std::atomic<bool> has_ended_ = false;
};

absl::StatusOr<std::shared_ptr<gloo::Context>> ConnectGloo(
    const CommSpec& spec, const Rendezvous& rendezvous) {
  std::shared_ptr<gloo::Context> result;
  const absl::Status status = RunGloo([&] {
    gloo::transport::tcp::attr address;
    if (spec.interface.empty()) {
      address.hostname = "127.0.0.1";
    } else {
      address.iface = spec.interface;
    }
    auto device = gloo::transport::tcp::CreateDevice(address);
    auto context =
        std::make_shared<GlooContext>(spec.identity.rank, spec.identity.size);
    // Gloo waits five times as long for a connection.
    context->setTimeout(std::max(spec.options.timeout / 5, Milliseconds(1)));
    GlooStore store(rendezvous.store(),
                    std::chrono::steady_clock::now() + spec.options.timeout);
    context->connectFullMesh(store, device);
    context->WatchConnections();
    gloo::BarrierOptions all_connected(context);
    all_connected.setTimeout(spec.options.timeout);
    gloo::barrier(all_connected);
    result = std::move(context);
  });
  SPILLWAY_RETURN_IF_ERROR(status);
  return result;
}

absl::StatusOr<std::shared_ptr<gloo::Context>> MeetAndConnect(
    const CommSpec& spec, const Rendezvous& rendezvous) {
  SPILLWAY_RETURN_IF_ERROR(rendezvous.Meet(spec.options.timeout));
  auto context = ConnectGloo(spec, rendezvous);
  if (context.ok()) return context;
  return Annotate(
      context.status(),
      fmt::format("ranks that met in {}", rendezvous.store() == nullptr
                                              ? "this process"
                                              : rendezvous.store()->name()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> OpenGlooCommunicator(
    const CommSpec& spec) {
  const RankIdentity& identity = spec.identity;
  if (!spec.interface.empty() && if_nametoindex(spec.interface.c_str()) == 0) {
    return InvalidArgument(
        fmt::format("there is no network interface {}", spec.interface));
  }
  SPILLWAY_ASSIGN_OR_RETURN(Rendezvous rendezvous, Rendezvous::Open(identity));
  auto context = MeetAndConnect(spec, rendezvous);
  if (!context.ok()) {
    rendezvous.Linger();
    return Annotate(
        context.status(),
        fmt::format("gloo, rank {} of {}", identity.rank, identity.size));
  }
  return std::make_unique<GlooCommunicator>(
      CommInfo{.rank = identity.rank,
               .size = identity.size,
               .local_rank = identity.local_rank,
               .local_size = identity.local_size,
               .backend = "gloo",
               .version = fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR,
                                      GLOO_VERSION_MINOR, GLOO_VERSION_PATCH)},
      spec.options, std::move(rendezvous), *std::move(context));
}

}  // namespace spillway
