#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "comm/rendezvous/tcp_socket.h"
#include "comm/rendezvous/tcp_store.h"
#include "comm/rendezvous/tcp_store_protocol.h"

namespace spillway {
namespace {

using tcp_store::kGreeting;
using tcp_store::kLengthBytes;
using tcp_store::kNo;
using tcp_store::kYes;
using tcp_store::WithLength;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxPeers = 4096;
constexpr auto kGreetingTime = std::chrono::seconds(10);

// One connection, in this order.
enum class PeerState : uint8_t {
  kGreeting,  // has not shown the run id
  kRequest,   // its request is not complete
  kWaiting,   // for a key
  kLeaving,   // closes the connection when it has read the answer
  kGone,
};

struct Peer {
  Socket socket = {};
  PeerState state = PeerState::kGreeting;
  Clock::time_point accepted = Clock::now();
  std::string received = {};
  std::string key = {};      // waits for it
  std::string to_send = {};  // what the connection did not take yet
};

// The text with a length in front at `position`, which moves behind it;
// nullopt: not received yet. A length above `most` ends the peer.
std::optional<std::string> TakeText(Peer& peer, size_t& position, size_t most) {
  const std::string_view rest =
      std::string_view(peer.received).substr(position);
  if (rest.size() < kLengthBytes) return std::nullopt;
  const size_t length = tcp_store::DecodeLength(rest);
  if (length > most) {
    peer.state = PeerState::kGone;
    return std::nullopt;
  }
  if (rest.size() < kLengthBytes + length) return std::nullopt;
  position += kLengthBytes + length;
  return std::string(rest.substr(kLengthBytes, length));
}

class Server final : public TcpStoreServer {
 public:
  Server(std::string address, std::string run_id, Socket listener)
      : address_(std::move(address)),
        greeting_(std::string(kGreeting) + WithLength(run_id)),
        listener_(std::move(listener)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        thread_([this] { Serve(); }) {}

  ~Server() override {
    const uint64_t one = 1;
    if (write(stop_.descriptor(), &one, sizeof(one)) < 0) return;
    thread_.join();
  }

  const std::string& address() const override { return address_; }

 private:
  void Serve() {
    while (true) {
      std::vector<pollfd> polled = {
          {.fd = stop_.descriptor(), .events = POLLIN, .revents = 0},
          {.fd = listener_.descriptor(), .events = POLLIN, .revents = 0}};
      for (const Peer& peer : peers_) {
        const int events = peer.to_send.empty() ? POLLIN : POLLIN | POLLOUT;
        polled.push_back({.fd = peer.socket.descriptor(),
                          .events = static_cast<int16_t>(events),
                          .revents = 0});
      }
      // Wakes up for peers that are slow to greet.
      constexpr int kMilliseconds = 1000;
      poll(polled.data(), polled.size(), kMilliseconds);
      if (polled[0].revents != 0) return;
      size_t next = 2;
      for (Peer& peer : peers_) {
        if (polled[next++].revents != 0) Attend(peer);
      }
      std::erase_if(peers_, IsGone);
      if (polled[1].revents != 0) Accept();
    }
  }

  static bool IsGone(const Peer& peer) {
    const bool must_hurry = peer.state == PeerState::kGreeting ||
                            peer.state == PeerState::kRequest ||
                            peer.state == PeerState::kLeaving;
    return peer.state == PeerState::kGone ||
           (must_hurry && Clock::now() - peer.accepted > kGreetingTime);
  }

  void Accept() {
    const int accepted = accept4(listener_.descriptor(), nullptr, nullptr,
                                 SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0) {
      // With no descriptor free, poll would return at once again.
      if (errno == EMFILE || errno == ENFILE) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      return;
    }
    Socket socket(accepted);
    if (peers_.size() < kMaxPeers) {
      peers_.push_back({.socket = std::move(socket)});
    }
  }

  void Attend(Peer& peer) {
    Receive(peer);
    if (peer.state == PeerState::kGreeting) Greet(peer);
    if (peer.state == PeerState::kRequest) Answer(peer);
    Send(peer);
  }

  static void Receive(Peer& peer) {
    char bytes[16384];
    const ssize_t received =
        recv(peer.socket.descriptor(), bytes, sizeof(bytes), 0);
    if (received <= 0) {
      const bool is_open = received < 0 && (errno == EAGAIN || errno == EINTR);
      if (!is_open) peer.state = PeerState::kGone;
      return;
    }
    const bool is_expected =
        peer.state == PeerState::kGreeting || peer.state == PeerState::kRequest;
    if (is_expected) peer.received.append(bytes, static_cast<size_t>(received));
  }

  void Greet(Peer& peer) {
    const size_t compared = std::min(peer.received.size(), greeting_.size());
    if (peer.received.compare(0, compared, greeting_, 0, compared) != 0) {
      Finish(peer, std::string(1, kNo));
      return;
    }
    if (compared < greeting_.size()) return;
    peer.received.erase(0, compared);
    peer.to_send += kYes;
    peer.state = PeerState::kRequest;
  }

  void Answer(Peer& peer) {
    if (peer.received.empty()) return;
    size_t position = 1;
    const char kind = peer.received[0];
    if (kind != tcp_store::kSet && kind != tcp_store::kGet) {
      peer.state = PeerState::kGone;
      return;
    }
    std::optional<std::string> key =
        TakeText(peer, position, KeyValueStore::kMaxBytes);
    if (!key.has_value()) return;
    if (kind == tcp_store::kGet) {
      peer.state = PeerState::kWaiting;
      peer.key = *std::move(key);
      GiveValue(peer);
      return;
    }
    std::optional<std::string> value =
        TakeText(peer, position, KeyValueStore::kMaxBytes);
    if (!value.has_value()) return;
    const bool is_new = values_.try_emplace(*key, *std::move(value)).second;
    Finish(peer, std::string(1, is_new ? kYes : kNo));
    for (Peer& other : peers_) {
      if (other.state != PeerState::kWaiting || other.key != *key) continue;
      GiveValue(other);
      Send(other);
    }
  }

  void GiveValue(Peer& peer) {
    const auto found = values_.find(peer.key);
    if (found == values_.end()) return;
    Finish(peer, kYes + WithLength(found->second));
  }

  static void Finish(Peer& peer, const std::string& answer) {
    peer.to_send += answer;
    peer.state = PeerState::kLeaving;
    peer.accepted = Clock::now();
    peer.received.clear();
  }

  static void Send(Peer& peer) {
    if (peer.state == PeerState::kGone || peer.to_send.empty()) return;
    const ssize_t sent = send(peer.socket.descriptor(), peer.to_send.data(),
                              peer.to_send.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      peer.to_send.erase(0, static_cast<size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      peer.state = PeerState::kGone;
    }
  }

  const std::string address_;
  const std::string greeting_;
  const Socket listener_;
  const Socket stop_;
  std::list<Peer> peers_;                      // of the thread
  std::map<std::string, std::string> values_;  // of the thread
  std::jthread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TcpStoreServer>> ServeTcpStore(
    std::string_view address, const std::string& run_id) {
  SPILLWAY_ASSIGN_OR_RETURN(const SocketAddress parsed,
                            ParseSocketAddress(address));
  SPILLWAY_ASSIGN_OR_RETURN(Socket listener, ListenAt(parsed));
  std::string actual(address.substr(0, address.rfind(':')));
  actual += fmt::format(":{}", PortOf(listener));
  return std::make_unique<Server>(std::move(actual), run_id,
                                  std::move(listener));
}

}  // namespace spillway
