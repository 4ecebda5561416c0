// How much work a test does: less with a sanitizer, more on request.
#ifndef SPILLWAY_TESTS_SUPPORT_TEST_SIZE_H_
#define SPILLWAY_TESTS_SUPPORT_TEST_SIZE_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>

// GCC defines macros, clang has features.
#if defined(__has_feature)
#define SPILLWAY_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SPILLWAY_HAS_FEATURE(feature) 0
#endif

namespace spillway::testing {

#if defined(__SANITIZE_ADDRESS__) || SPILLWAY_HAS_FEATURE(address_sanitizer)
inline constexpr bool kHasAddressSanitizer = true;
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || SPILLWAY_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif

inline constexpr bool kHasSanitizer =
    kHasAddressSanitizer || kHasThreadSanitizer;

// How many random cases to try. With a sanitizer, a case takes 20 times as
// long, and an eighth of them finds what only a sanitizer sees.
inline constexpr int NumCases(int standard) {
  return kHasSanitizer ? std::max(2, standard / 8) : standard;
}

// How many of NumCases cases to expect of some kind; with a sanitizer, a rare
// kind may be missing.
inline constexpr int LeastCases(int standard) {
  return kHasSanitizer ? standard / 16 - 1 : standard;
}

// The environment variable `name`, or `standard` if it is not set.
inline int64_t StressSetting(const char* name, int64_t standard) {
  const char* text = std::getenv(name);
  return text == nullptr ? standard : std::strtoll(text, nullptr, 10);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_TEST_SIZE_H_
