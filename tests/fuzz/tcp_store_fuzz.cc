// Sends arbitrary bytes to the server of a rendezvous, with or without its
// greeting in front. The server goes on serving others.
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "comm/rendezvous/tcp_socket.h"
#include "comm/rendezvous/tcp_store.h"
#include "comm/rendezvous/tcp_store_protocol.h"
#include "tests/fuzz/fuzz_input.h"

namespace spillway {
namespace {

constexpr const char* kRun = "run";

SocketDeadline Later() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(5);
}

// A new one from time to time, since it keeps all that it is sent.
TcpStoreServer& AnyServer() {
  static std::unique_ptr<TcpStoreServer> server;
  static int uses = 0;
  if (uses++ % 1000 == 0) {
    server.reset();
    server = *ServeTcpStore("127.0.0.1:0", kRun);
  }
  return *server;
}

// Until the server has read all of it and hung up.
void Send(const TcpStoreServer& server, std::string_view bytes) {
  const Socket socket =
      *ConnectTo(*ParseSocketAddress(server.address()), Later());
  // Closing leaves nothing behind: ports are few.
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &at_once,
             sizeof(at_once));
  SendAll(socket, bytes, Later()).IgnoreError();  // it may hang up before
  shutdown(socket.descriptor(), SHUT_WR);
  char byte = 0;
  absl::Status received;
  while (received.ok()) received = ReceiveAll(socket, &byte, 1, Later());
  SPILLWAY_CHECK(!absl::IsDeadlineExceeded(received));
}

void CheckServes(const TcpStoreServer& server) {
  const auto store = *OpenTcpStore(server.address(), kRun);
  static int number = 0;
  const std::string key = "check " + std::to_string(number++);
  const absl::Status set = store->Set(key, "value", Later());
  SPILLWAY_CHECK(set.ok() || absl::IsAlreadyExists(set));  // by an input
  SPILLWAY_CHECK(store->Get(key, Later()).ok());
}

}  // namespace
}  // namespace spillway

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input = spillway::FuzzInput(data, size);
  std::string bytes;
  if (input[0] % 4 != 0) {
    bytes = std::string(spillway::tcp_store::kGreeting) +
            spillway::tcp_store::WithLength(spillway::kRun);
  }
  bytes += input.substr(1);
  const spillway::TcpStoreServer& server = spillway::AnyServer();
  spillway::Send(server, bytes);
  static int inputs = 0;
  if (++inputs % 50 == 0) spillway::CheckServes(server);
  return 0;
}
