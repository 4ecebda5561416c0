// Calls user code, which may throw.
#ifndef SPILLWAY_EXECUTOR_GUARDED_CALL_H_
#define SPILLWAY_EXECUTOR_GUARDED_CALL_H_

#include <exception>
#include <functional>
#include <new>
#include <string>
#include <type_traits>

#include "base/status_macros.h"

namespace spillway {

// Returns fn()'s Status or StatusOr. If fn throws std::bad_alloc:
// RESOURCE_EXHAUSTED; another exception: INTERNAL with its text. (An exception
// that leaves a thread or an OpenMP region of fn ends the program.)
template <typename Fn>
std::invoke_result_t<Fn> GuardedCall(Fn&& fn) {
  try {
    return std::invoke(fn);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("this process may not have more memory");
  } catch (const std::exception& error) {
    return Internal(std::string("threw an exception: ") + error.what());
  } catch (...) {
    return Internal("threw something that is not a std::exception");
  }
}

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_GUARDED_CALL_H_
