// Times of copies between host and device by size, for a device profile.
#ifndef SPILLWAY_TUNER_PROFILE_MEASURE_LINK_H_
#define SPILLWAY_TUNER_PROFILE_MEASURE_LINK_H_

#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "executor/device/device.h"
#include "simulator/link_direction.h"

namespace spillway {

struct MeasuredLink {
  LinkDirection to_host = {};
  LinkDirection to_device = {};
};

// Copies 4 KiB to 16 MiB (less over a link so slow that one copy takes 0.1 s),
// in each direction alone and in both at once, through the device's own
// streams, as an executor issues copies. Each copy uses other bytes, so that no
// cache holds them; a time is the median over the copies. Takes about a second,
// and 128 MiB of memory. `stop` is called before each size. Errors: those of
// the device; CANCELLED if stopped.
absl::StatusOr<MeasuredLink> MeasureLink(Device& device,
                                         const StopRequest& stop = {});

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_LINK_H_
