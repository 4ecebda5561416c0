// A request to end long work early, for Ctrl-C, deadlines and user interfaces.
//
//   std::stop_source source;  // request_stop() from any thread
//   spec.stop = [t = source.get_token()] { return t.stop_requested(); };
//
// Work that takes a StopRequest calls it between two units (steps, candidates,
// measurements); a unit is never cut short. The header of that work says what
// its units are and what it returns. Once the request has returned true, the
// work ends; it may call the request again while it ends.
//
// Threads: the work calls the request on its caller's thread. Cost: one call
// per unit; the request must return at once. Lifetime: until the work returns.
// are units; it has to answer at once. Lifetime: until the work returns.
#ifndef SPILLWAY_BASE_STOP_REQUEST_H_
#define SPILLWAY_BASE_STOP_REQUEST_H_

#include <functional>

#include "absl/status/status.h"

namespace spillway {

// Empty: never stops.
using StopRequest = std::function<bool()>;

inline bool StopRequested(const StopRequest& stop) { return stop && stop(); }

// For work whose partial results are useless: CANCELLED if a stop is requested.
inline absl::Status CheckStop(const StopRequest& stop) {
  return StopRequested(stop)
             ? absl::CancelledError("stopped before it was complete")
             : absl::OkStatus();
}

}  // namespace spillway

#endif  // SPILLWAY_BASE_STOP_REQUEST_H_
