// Where launches on a stream go (cuda_emulation.h). A header of its own, which
// can be included beside CUDA's.
#ifndef SPILLWAY_TESTS_SUPPORT_EMULATED_QUEUE_H_
#define SPILLWAY_TESTS_SUPPORT_EMULATED_QUEUE_H_

#include <functional>

namespace spillway::cuda_emulation {

// How work is queued on a stream. CHECKed to be set before a launch on one.
using Queue = std::function<void(void* stream, std::function<void()> work)>;
void SetQueue(Queue queue);

}  // namespace spillway::cuda_emulation

#endif  // SPILLWAY_TESTS_SUPPORT_EMULATED_QUEUE_H_
