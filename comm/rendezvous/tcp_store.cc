#include "comm/rendezvous/tcp_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"
#include "comm/rendezvous/tcp_socket.h"
#include "comm/rendezvous/tcp_store_protocol.h"

namespace spillway {
namespace {

using tcp_store::kYes;
using tcp_store::WithLength;

class TcpStore final : public KeyValueStore {
 public:
  TcpStore(std::string_view name, SocketAddress address, std::string run_id)
      : name_(name), address_(std::move(address)), run_id_(std::move(run_id)) {}

  absl::Status Set(const std::string& key, const std::string& value,
                   Deadline deadline) override {
    return Annotate(SetHere(key, value, deadline),
                    fmt::format("{} at {}", key, name_));
  }

  absl::StatusOr<std::string> Get(const std::string& key,
                                  Deadline deadline) override {
    absl::StatusOr<std::string> value = GetHere(key, deadline);
    if (value.ok()) return value;
    return Annotate(value.status(), fmt::format("{} at {}", key, name_));
  }

  const std::string& name() const override { return name_; }

 private:
  // A connection on which `request` was sent and answered; the first byte of
  // the answer.
  absl::StatusOr<std::pair<Socket, char>> Ask(const std::string& request,
                                              Deadline deadline) {
    SPILLWAY_ASSIGN_OR_RETURN(Socket socket, ConnectTo(address_, deadline));
    char answer = 0;
    SPILLWAY_RETURN_IF_ERROR(
        SendAll(socket, std::string(tcp_store::kGreeting) + WithLength(run_id_),
                deadline));
    SPILLWAY_RETURN_IF_ERROR(ReceiveAll(socket, &answer, 1, deadline));
    if (answer != kYes) {
      return absl::AbortedError(
          answer == tcp_store::kNo
              ? fmt::format("another run than '{}' is there", run_id_)
              : "no rendezvous of Spillway is there");
    }
    SPILLWAY_RETURN_IF_ERROR(SendAll(socket, request, deadline));
    SPILLWAY_RETURN_IF_ERROR(ReceiveAll(socket, &answer, 1, deadline));
    return std::pair(std::move(socket), answer);
  }

  absl::Status SetHere(const std::string& key, const std::string& value,
                       Deadline deadline) {
    if (key.size() > kMaxBytes || value.size() > kMaxBytes) {
      return InvalidArgument(
          fmt::format("a key of {} and a value of {} bytes; at most {}",
                      key.size(), value.size(), kMaxBytes));
    }
    const std::string request =
        tcp_store::kSet + WithLength(key) + WithLength(value);
    SPILLWAY_ASSIGN_OR_RETURN(const auto answer, Ask(request, deadline));
    if (answer.second == kYes) return absl::OkStatus();
    return absl::AlreadyExistsError("it is set");
  }

  absl::StatusOr<std::string> GetHere(const std::string& key,
                                      Deadline deadline) {
    SPILLWAY_ASSIGN_OR_RETURN(const auto answer,
                              Ask(tcp_store::kGet + WithLength(key), deadline));
    std::string length(tcp_store::kLengthBytes, '\0');
    SPILLWAY_RETURN_IF_ERROR(
        ReceiveAll(answer.first, length.data(), length.size(), deadline));
    const size_t bytes = tcp_store::DecodeLength(length);
    if (answer.second != kYes || bytes > kMaxBytes) {
      return absl::AbortedError("no rendezvous of Spillway is there");
    }
    std::string value(bytes, '\0');
    SPILLWAY_RETURN_IF_ERROR(
        ReceiveAll(answer.first, value.data(), bytes, deadline));
    return value;
  }

  const std::string name_;
  const SocketAddress address_;
  const std::string run_id_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KeyValueStore>> OpenTcpStore(
    std::string_view address, const std::string& run_id) {
  SPILLWAY_ASSIGN_OR_RETURN(SocketAddress parsed, ParseSocketAddress(address));
  return std::make_unique<TcpStore>(address, std::move(parsed), run_id);
}

}  // namespace spillway
