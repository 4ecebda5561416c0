// A NetworkModel as the field "network" of a device profile
// (docs/device_profile.md).
#ifndef SPILLWAY_SIMULATOR_NETWORK_NETWORK_JSON_H_
#define SPILLWAY_SIMULATOR_NETWORK_NETWORK_JSON_H_

#include "base/json_object.h"
#include "nlohmann/json_fwd.hpp"
#include "simulator/network/network_model.h"

namespace spillway {

// Reports bad fields to the object's root. Of one rank.
NetworkModel ReadNetwork(JsonObject network);

// What ReadNetwork reads back to the same network, but for its ranks. Optional
// fields with their default values are left out.
nlohmann::ordered_json NetworkToJson(const NetworkModel& network);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_NETWORK_NETWORK_JSON_H_
