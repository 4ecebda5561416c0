// IDX bytes and files for tests.
#ifndef SPILLWAY_TESTS_TRAINING_DATA_MAKE_IDX_H_
#define SPILLWAY_TESTS_TRAINING_DATA_MAKE_IDX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::testing {

inline std::string BigEndian32(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

// Unsigned bytes with these dimensions and elements, valid or not.
inline std::string MakeIdx(const std::vector<uint32_t>& dims,
                           std::string_view elements) {
  std::string bytes = BigEndian32(0x0800 + static_cast<uint32_t>(dims.size()));
  for (const uint32_t dim : dims) bytes += BigEndian32(dim);
  return bytes.append(elements);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TRAINING_DATA_MAKE_IDX_H_
