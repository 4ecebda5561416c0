// How much of a step's communication kernels hide.
#ifndef SPILLWAY_SIMULATOR_NETWORK_COMMUNICATION_USE_H_
#define SPILLWAY_SIMULATOR_NETWORK_COMMUNICATION_USE_H_

#include <cstdint>

#include "base/trace/timeline.h"

namespace spillway {

// The communication lane of a step.
struct CommunicationUse {
  int64_t busy_ns = 0;
  int64_t hidden_ns = 0;  // of this, while the compute lane is busy too

  int64_t exposed_ns() const { return busy_ns - hidden_ns; }
};

// `timeline` has one track per lane, as an executor or the simulator fills it.
CommunicationUse MeasureCommunication(const Timeline& timeline);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_NETWORK_COMMUNICATION_USE_H_
