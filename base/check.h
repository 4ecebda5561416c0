// SPILLWAY_CHECK(condition): ends the program with file, line and the
// condition's text when one of our own assumptions is false. What a caller, a
// file or a device can cause is reported by absl::Status instead.
//
// Does not depend on the log, so that CUDA sources may include it.
#ifndef SPILLWAY_BASE_CHECK_H_
#define SPILLWAY_BASE_CHECK_H_

namespace spillway::internal {

[[noreturn]] void CheckFailed(const char* file, int line,
                              const char* condition);

}  // namespace spillway::internal

#define SPILLWAY_CHECK(condition)                                        \
  do {                                                                   \
    if (!(condition)) [[unlikely]] {                                     \
      ::spillway::internal::CheckFailed(__FILE__, __LINE__, #condition); \
    }                                                                    \
  } while (false)

#endif  // SPILLWAY_BASE_CHECK_H_
