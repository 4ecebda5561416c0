// TCP sockets with deadlines: as much as the rendezvous needs.
#ifndef SPILLWAY_COMM_RENDEZVOUS_TCP_SOCKET_H_
#define SPILLWAY_COMM_RENDEZVOUS_TCP_SOCKET_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace spillway {

// Owns a file descriptor; -1: none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

struct SocketAddress {
  std::string host = {};
  std::string port = {};
};

// "host:port" or "[host]:port" for an IPv6 address. INVALID_ARGUMENT.
absl::StatusOr<SocketAddress> ParseSocketAddress(std::string_view text);

// Listens at the address of that host only; port 0 is one that is free. The
// socket does not block. UNAVAILABLE naming the address.
absl::StatusOr<Socket> ListenAt(const SocketAddress& address);

// The port of a listening socket.
int PortOf(const Socket& socket);

using SocketDeadline = std::chrono::steady_clock::time_point;

// Tries again while nobody listens. The socket does not block. Errors:
// DEADLINE_EXCEEDED if nobody has listened; UNAVAILABLE for an unknown host.
absl::StatusOr<Socket> ConnectTo(const SocketAddress& address,
                                 SocketDeadline deadline);

// All bytes of `data`. Errors: DEADLINE_EXCEEDED; UNAVAILABLE for a connection
// that was closed.
absl::Status SendAll(const Socket& socket, std::string_view data,
                     SocketDeadline deadline);
absl::Status ReceiveAll(const Socket& socket, char* data, size_t bytes,
                        SocketDeadline deadline);

}  // namespace spillway

#endif  // SPILLWAY_COMM_RENDEZVOUS_TCP_SOCKET_H_
