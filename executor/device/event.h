// Event: a mark in a stream that other streams and the host can wait for.
#ifndef SPILLWAY_EXECUTOR_DEVICE_EVENT_H_
#define SPILLWAY_EXECUTOR_DEVICE_EVENT_H_

#include <cstdint>

namespace spillway {

// Made by Device::NewEvent; recorded and waited for through Stream. May be
// recorded again once every stream that waits for the earlier mark has passed
// it (in practice: after the step was synchronised).
class Event {
 public:
  virtual ~Event() = default;

  // When the last recorded mark was reached, in nanoseconds on the device's
  // clock. Only for events made with `timing`, after a synchronisation.
  virtual int64_t TimeNs() const = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_EVENT_H_
