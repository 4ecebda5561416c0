// A KeyValueStore that rank 0 serves over TCP.
//
//   client                             server
//   "SPILLWAY" length run id     -->   'Y', or 'N' and it hangs up
//   'S' length key length value  -->   'Y', or 'N' if the key is set
//   'G' length key               -->   when the key is set: 'Y' length value
//
// A connection carries one request. Lengths have 4 bytes, lowest first, and are
// checked before memory is taken. The run id keeps other runs out; it travels
// as it is, so it is no protection from those who can read the network.
#ifndef SPILLWAY_COMM_RENDEZVOUS_TCP_STORE_H_
#define SPILLWAY_COMM_RENDEZVOUS_TCP_STORE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/rendezvous/key_value_store.h"

namespace spillway {

// In a thread of its own until it is destroyed. Connections that do not show
// the run id within 10 s, break the protocol, or are more than 4096, are
// dropped.
class TcpStoreServer {
 public:
  virtual ~TcpStoreServer() = default;

  // As it was given; port 0 is replaced by the actual one.
  virtual const std::string& address() const = 0;
};

// Listens at `address` ("host:port") only. Errors: INVALID_ARGUMENT for what is
// no address, UNAVAILABLE if it cannot listen there.
absl::StatusOr<std::unique_ptr<TcpStoreServer>> ServeTcpStore(
    std::string_view address, const std::string& run_id);

// Connects at each request. Calls wait for a server that does not listen yet;
// DEADLINE_EXCEEDED names the address. ABORTED: it serves another run, or is
// none of Spillway. UNAVAILABLE: the server has ended. INVALID_ARGUMENT for
// what is no address.
absl::StatusOr<std::unique_ptr<KeyValueStore>> OpenTcpStore(
    std::string_view address, const std::string& run_id);

}  // namespace spillway

#endif  // SPILLWAY_COMM_RENDEZVOUS_TCP_STORE_H_
