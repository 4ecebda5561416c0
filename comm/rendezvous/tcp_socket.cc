#include "comm/rendezvous/tcp_socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "base/status_macros.h"

namespace spillway {
namespace {

constexpr auto kRetryInterval = std::chrono::milliseconds(20);

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

std::string ToText(const SocketAddress& address) {
  return fmt::format("{}:{}", address.host, address.port);
}

absl::StatusOr<Addresses> Resolve(const SocketAddress& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) {
    return Unavailable(fmt::format("{}: unknown host: {}", ToText(address),
                                   gai_strerror(error)));
  }
  return Addresses(found);
}

Socket NewSocket(const addrinfo& address) {
  return Socket(socket(address.ai_family,
                       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                       address.ai_protocol));
}

int MillisecondsUntil(SocketDeadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000));
}

// Until the socket is ready for `events`.
absl::Status WaitFor(const Socket& socket, int16_t events,
                     SocketDeadline deadline) {
  while (true) {
    pollfd each = {.fd = socket.descriptor(), .events = events, .revents = 0};
    const int milliseconds = MillisecondsUntil(deadline);
    if (poll(&each, 1, milliseconds) > 0) return absl::OkStatus();
    if (milliseconds == 0) {
      return absl::DeadlineExceededError("the connection was silent");
    }
  }
}

// 0: connected; else the errno.
int TryConnect(const Socket& socket, const addrinfo& address,
               SocketDeadline deadline) {
  if (socket.descriptor() < 0) return errno;
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) return errno;
  if (!WaitFor(socket, POLLOUT, deadline).ok()) return ETIMEDOUT;
  int error = 0;
  socklen_t bytes = sizeof(error);
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  return error;
}

absl::Status Closed(int error) {
  return Unavailable(fmt::format("the connection was closed: {}",
                                 error == 0 ? "end" : std::strerror(error)));
}

bool IsTemporary(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<SocketAddress> ParseSocketAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, std::min(colon, text.size()));
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  std::string port;
  if (colon != std::string_view::npos) port = text.substr(colon + 1);
  const bool is_port =
      !port.empty() && port.size() <= 5 &&
      std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }) &&
      std::stoi(port) <= 65535;
  const bool is_host =
      !host.empty() && (is_bracketed || host.find(':') == host.npos);
  if (!is_host || !is_port) {
    return InvalidArgument(fmt::format(
        "'{}' is no address such as localhost:29500 or [::1]:29500", text));
  }
  return SocketAddress{.host = std::string(host), .port = port};
}

absl::StatusOr<Socket> ListenAt(const SocketAddress& address) {
  SPILLWAY_ASSIGN_OR_RETURN(const Addresses found, Resolve(address));
  Socket socket = NewSocket(*found);
  const int on = 1;
  const int descriptor = socket.descriptor();
  if (descriptor < 0 ||
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(descriptor, found->ai_addr, found->ai_addrlen) != 0 ||
      listen(descriptor, SOMAXCONN) != 0) {
    return Unavailable(fmt::format("cannot listen at {}: {}", ToText(address),
                                   std::strerror(errno)));
  }
  return socket;
}

int PortOf(const Socket& socket) {
  sockaddr_storage address = {};
  socklen_t bytes = sizeof(address);
  getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address),
              &bytes);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

absl::StatusOr<Socket> ConnectTo(const SocketAddress& address,
                                 SocketDeadline deadline) {
  SPILLWAY_ASSIGN_OR_RETURN(const Addresses found, Resolve(address));
  while (true) {
    Socket socket = NewSocket(*found);
    const int error = TryConnect(socket, *found, deadline);
    if (error == 0) return socket;
    if (MillisecondsUntil(deadline) == 0) {
      return absl::DeadlineExceededError(fmt::format(
          "nobody answers at {}: {}", ToText(address), std::strerror(error)));
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
}

absl::Status SendAll(const Socket& socket, std::string_view data,
                     SocketDeadline deadline) {
  while (!data.empty()) {
    const ssize_t sent =
        send(socket.descriptor(), data.data(), data.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      data.remove_prefix(static_cast<size_t>(sent));
    } else if (sent < 0 && IsTemporary(errno)) {
      SPILLWAY_RETURN_IF_ERROR(WaitFor(socket, POLLOUT, deadline));
    } else {
      return Closed(errno);
    }
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(const Socket& socket, char* data, size_t bytes,
                        SocketDeadline deadline) {
  while (bytes > 0) {
    const ssize_t received = recv(socket.descriptor(), data, bytes, 0);
    if (received > 0) {
      data += received;
      bytes -= static_cast<size_t>(received);
    } else if (received < 0 && IsTemporary(errno)) {
      SPILLWAY_RETURN_IF_ERROR(WaitFor(socket, POLLIN, deadline));
    } else {
      return Closed(received == 0 ? 0 : errno);
    }
  }
  return absl::OkStatus();
}

}  // namespace spillway
