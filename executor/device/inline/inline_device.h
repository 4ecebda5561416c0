// The inline backend: every call does its work at once on the caller's thread.
// The reference for the other backends; uses the cpu backend's memory and
// links.
#ifndef SPILLWAY_EXECUTOR_DEVICE_INLINE_INLINE_DEVICE_H_
#define SPILLWAY_EXECUTOR_DEVICE_INLINE_INLINE_DEVICE_H_

#include <memory>

#include "executor/device/device.h"
#include "executor/device/registry.h"

namespace spillway {

// Options must have been checked (registry.h).
std::unique_ptr<Device> NewInlineDevice(const DeviceOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_INLINE_INLINE_DEVICE_H_
