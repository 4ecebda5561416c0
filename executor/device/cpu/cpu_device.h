// The cpu backend: streams are worker threads, and device memory is RAM with a
// limit, so LMS moves real bytes through the same code path as on a GPU.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_DEVICE_H_
#define SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_DEVICE_H_

#include <memory>

#include "executor/device/device.h"
#include "executor/device/registry.h"

namespace spillway {

// Options must have been checked (registry.h). Threads: any thread may call the
// device.
std::unique_ptr<Device> NewCpuDevice(const DeviceOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_DEVICE_H_
