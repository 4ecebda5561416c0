// The inline backend: every call does its work at once on the caller's thread.
// The reference that the other backends are compared with; made of the cpu
// backend's memory and links.
#ifndef SPILLWAY_EXECUTOR_DEVICE_INLINE_INLINE_DEVICE_H_
#define SPILLWAY_EXECUTOR_DEVICE_INLINE_INLINE_DEVICE_H_

#include <memory>

#include "executor/device/device.h"
#include "executor/device/registry.h"

namespace spillway {

// Options were checked (registry.h).
std::unique_ptr<Device> NewInlineDevice(const DeviceOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_INLINE_INLINE_DEVICE_H_
