// Which of several GPUs the emulation (cuda_emulation.h) represents. A separate
// header, as tests may include CUDA's own headers too.
#ifndef SPILLWAY_TESTS_SUPPORT_EMULATED_DEVICE_H_
#define SPILLWAY_TESTS_SUPPORT_EMULATED_DEVICE_H_

namespace spillway::cuda_emulation {

// The device that CUDA keeps for each thread; 0 before it is set.
void SetCurrentDevice(int device);
int CurrentDevice();

}  // namespace spillway::cuda_emulation

#endif  // SPILLWAY_TESTS_SUPPORT_EMULATED_DEVICE_H_
