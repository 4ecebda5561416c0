// Environment variables that make a random test larger.
#ifndef SPILLWAY_TESTS_SUPPORT_STRESS_SETTING_H_
#define SPILLWAY_TESTS_SUPPORT_STRESS_SETTING_H_

#include <cstdint>
#include <cstdlib>

namespace spillway::testing {

// The variable `name`, or `standard` if it is not set.
inline int64_t StressSetting(const char* name, int64_t standard) {
  const char* text = std::getenv(name);
  return text == nullptr ? standard : std::strtoll(text, nullptr, 10);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_STRESS_SETTING_H_
