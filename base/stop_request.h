// A request to end long work early, for Ctrl-C, deadlines and user interfaces.
//
//   std::stop_source source;  // request_stop() from any thread
//   spec.stop = [token = source.get_token()] { return token.stop_requested();
//   };
//
// Work that takes a StopRequest asks it between two units (steps, candidates,
// measurements), which are never cut short. The header of that work says what
// its units are and what it returns. Once the request has answered true, the
// work ends, and may ask again while it does.
//
// Threads: the work asks on its caller's thread. Cost: asked as often as there
// are units; it has to answer at once. Lifetime: until the work returns.
#ifndef SPILLWAY_BASE_STOP_REQUEST_H_
#define SPILLWAY_BASE_STOP_REQUEST_H_

#include <functional>

#include "absl/status/status.h"

namespace spillway {

// Empty: never.
using StopRequest = std::function<bool()>;

inline bool StopRequested(const StopRequest& stop) { return stop && stop(); }

// For work whose parts are of no use: CANCELLED if a stop is requested.
inline absl::Status CheckStop(const StopRequest& stop) {
  return StopRequested(stop)
             ? absl::CancelledError("stopped before it was complete")
             : absl::OkStatus();
}

}  // namespace spillway

#endif  // SPILLWAY_BASE_STOP_REQUEST_H_
