// SearchEffort: how long the tuner searches.
#ifndef SPILLWAY_TUNER_SEARCH_SEARCH_EFFORT_H_
#define SPILLWAY_TUNER_SEARCH_SEARCH_EFFORT_H_

#include <cstdint>

namespace spillway {

enum class SearchEffort : uint8_t {
  kNormal,
  kHigh,  // plays eight times as many steps, and stops only at the bound
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_SEARCH_EFFORT_H_
