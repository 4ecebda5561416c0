// What the two sides of tcp_store.h share.
#ifndef SPILLWAY_COMM_RENDEZVOUS_TCP_STORE_PROTOCOL_H_
#define SPILLWAY_COMM_RENDEZVOUS_TCP_STORE_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spillway::tcp_store {

inline constexpr std::string_view kGreeting = "SPILLWAY";
inline constexpr char kYes = 'Y';
inline constexpr char kNo = 'N';
inline constexpr char kSet = 'S';
inline constexpr char kGet = 'G';
inline constexpr size_t kLengthBytes = 4;

// `text` with its length in front.
inline std::string WithLength(std::string_view text) {
  std::string result;
  for (size_t byte = 0; byte < kLengthBytes; ++byte) {
    result += static_cast<char>(text.size() >> (8 * byte) & 0xff);
  }
  return result.append(text);
}

// Requires: `text` has kLengthBytes.
inline size_t DecodeLength(std::string_view text) {
  size_t length = 0;
  for (size_t byte = 0; byte < kLengthBytes; ++byte) {
    length |= size_t{static_cast<unsigned char>(text[byte])} << (8 * byte);
  }
  return length;
}

}  // namespace spillway::tcp_store

#endif  // SPILLWAY_COMM_RENDEZVOUS_TCP_STORE_PROTOCOL_H_
