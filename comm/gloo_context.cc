#include "comm/gloo_context.h"

#include <fmt/format.h>
#include <gloo/common/error.h>
#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace spillway {
namespace {

using Milliseconds = std::chrono::milliseconds;
using gloo::transport::UnboundBuffer;

// After the loss of one of its partners, a buffer may still have messages of
// others, and a partner that has all it wanted may leave.
constexpr Milliseconds kGrace = std::chrono::seconds(2);

constexpr Milliseconds kForever = std::chrono::years(1);

// Of messages that nobody sends; Gloo's collectives have 0x01 to 0x08 in the
// first byte (gloo/types.h).
constexpr uint64_t kWatchSlot = uint64_t{0xff} << 56;

class WatchedBuffer;

// The buffers of a context.
class Buffers {
 public:
  void Add(WatchedBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.insert(buffer);
  }
  void Remove(WatchedBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.erase(buffer);
  }
  // Wakes those who wait for a message to or from this rank.
  void Wake(int lost_rank);

 private:
  std::mutex mutex_;
  std::set<WatchedBuffer*> buffers_;
};

// Messages are sent, received and waited for by one thread, as in all of
// Gloo's collectives.
class WatchedBuffer final : public UnboundBuffer {
 public:
  WatchedBuffer(std::unique_ptr<UnboundBuffer> buffer, Buffers& buffers)
      : UnboundBuffer(buffer->ptr, buffer->size),
        buffer_(std::move(buffer)),
        buffers_(buffers) {
    buffers_.Add(this);
  }
  ~WatchedBuffer() override { buffers_.Remove(this); }
  WatchedBuffer(const WatchedBuffer&) = delete;
  WatchedBuffer& operator=(const WatchedBuffer&) = delete;

  bool waitRecv(int* rank, Milliseconds timeout) override {
    return Wait(timeout, [this, rank](Milliseconds limit) {
      return buffer_->waitRecv(rank, limit);
    });
  }
  bool waitSend(int* rank, Milliseconds timeout) override {
    return Wait(timeout, [this, rank](Milliseconds limit) {
      return buffer_->waitSend(rank, limit);
    });
  }
  void abortWaitRecv() override { buffer_->abortWaitRecv(); }
  void abortWaitSend() override { buffer_->abortWaitSend(); }

  void send(int rank, uint64_t slot, size_t offset, size_t bytes) override {
    AddPartner(rank);
    buffer_->send(rank, slot, offset, bytes);
  }
  void recv(int rank, uint64_t slot, size_t offset, size_t bytes) override {
    AddPartner(rank);
    buffer_->recv(rank, slot, offset, bytes);
  }
  void recv(std::vector<int> ranks, uint64_t slot, size_t offset,
            size_t bytes) override {
    for (const int rank : ranks) AddPartner(rank);
    buffer_->recv(std::move(ranks), slot, offset, bytes);
  }

  void Wake(int lost_rank) {
    const std::lock_guard lock(mutex_);
    if (!partners_.contains(lost_rank)) return;
    lost_rank_ = lost_rank;
    buffer_->abortWaitRecv();
    buffer_->abortWaitSend();
  }

 private:
  void AddPartner(int rank) {
    const std::lock_guard lock(mutex_);
    partners_.insert(rank);
  }

  int lost_rank() {
    const std::lock_guard lock(mutex_);
    return lost_rank_;
  }

  // A wait ends without success if it was woken, now or before it began.
  template <typename WaitOnce>
  bool Wait(Milliseconds timeout, const WaitOnce& wait_once) {
    if (lost_rank() < 0 && wait_once(timeout)) return true;
    try {
      while (!wait_once(std::min(timeout, kGrace))) {
      }
      return true;
    } catch (const std::exception&) {
      throw gloo::IoException(
          fmt::format("the connection to rank {} is lost", lost_rank()));
    }
  }

  const std::unique_ptr<UnboundBuffer> buffer_;
  Buffers& buffers_;
  std::mutex mutex_;
  std::set<int> partners_;
  int lost_rank_ = -1;  // the last one; -1: none
};

void Buffers::Wake(int lost_rank) {
  const std::lock_guard lock(mutex_);
  for (WatchedBuffer* buffer : buffers_) buffer->Wake(lost_rank);
}

// A transport whose buffers are watched.
class WatchedTransport final : public gloo::transport::Context {
 public:
  explicit WatchedTransport(std::shared_ptr<gloo::transport::Context> transport)
      : gloo::transport::Context(transport->rank, transport->size),
        transport_(std::move(transport)),
        watch_([this] { Watch(); }) {}

  ~WatchedTransport() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      if (awaited_ != nullptr) awaited_->abortWaitRecv();
    }
    watch_.join();
  }
  WatchedTransport(const WatchedTransport&) = delete;
  WatchedTransport& operator=(const WatchedTransport&) = delete;

  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override {
    return transport_->getPair(rank);
  }
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override {
    return transport_->createPair(rank);
  }
  std::unique_ptr<UnboundBuffer> createUnboundBuffer(void* data,
                                                     size_t size) override {
    return std::make_unique<WatchedBuffer>(
        transport_->createUnboundBuffer(data, size), buffers_);
  }

 private:
  // Null: none. False at the end of this transport.
  bool SetAwaited(UnboundBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    awaited_ = buffer;
    return !ends_;
  }

  // Waits for messages that no rank sends: they have not begun, so Gloo tells
  // when a connection is lost.
  void Watch() {
    std::set<int> ranks;
    for (int i = 0; i < size; ++i) {
      if (i != rank) ranks.insert(i);
    }
    while (!ranks.empty()) {
      char byte = 0;
      const auto buffer = transport_->createUnboundBuffer(&byte, 1);
      if (!SetAwaited(buffer.get())) return;
      std::erase_if(ranks, [&](int i) { return IsLost(*buffer, i); });
      try {
        if (!ranks.empty()) buffer->waitRecv(kForever);
      } catch (const std::exception&) {
        // One is lost; the next round finds which.
      }
      if (!SetAwaited(nullptr)) return;
    }
  }

  bool IsLost(UnboundBuffer& buffer, int partner) {
    try {
      buffer.recv(partner, kWatchSlot);
      return false;
    } catch (const std::exception&) {
      buffers_.Wake(partner);
      return true;
    }
  }

  const std::shared_ptr<gloo::transport::Context> transport_;
  Buffers buffers_;
  std::mutex mutex_;
  bool ends_ = false;                 // guarded by mutex_
  UnboundBuffer* awaited_ = nullptr;  // guarded by mutex_
  std::thread watch_;                 // last: it uses the others
};

}  // namespace

void GlooContext::WatchConnections() {
  transportContext_ =
      std::make_shared<WatchedTransport>(std::move(transportContext_));
}

}  // namespace spillway
