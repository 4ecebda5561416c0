// Converts libFuzzer's input for the readers.
#ifndef SPILLWAY_TESTS_FUZZ_FUZZ_INPUT_H_
#define SPILLWAY_TESTS_FUZZ_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spillway {

inline std::string_view FuzzInput(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_FUZZ_FUZZ_INPUT_H_
