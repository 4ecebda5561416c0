// Where launches on a stream go (cuda_emulation.h). A separate header, which
// can be included together with CUDA's.
#ifndef SPILLWAY_TESTS_SUPPORT_EMULATED_QUEUE_H_
#define SPILLWAY_TESTS_SUPPORT_EMULATED_QUEUE_H_

#include <functional>

namespace spillway::cuda_emulation {

// Queues work on a stream. Must be set before a launch on a stream (CHECKed).
using Queue = std::function<void(void* stream, std::function<void()> work)>;
void SetQueue(Queue queue);

}  // namespace spillway::cuda_emulation

#endif  // SPILLWAY_TESTS_SUPPORT_EMULATED_QUEUE_H_
