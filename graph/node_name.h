// The rule for node names, checked for every name that comes from outside.
#ifndef SPILLWAY_GRAPH_NODE_NAME_H_
#define SPILLWAY_GRAPH_NODE_NAME_H_

#include <string_view>

#include "absl/status/status.h"

namespace spillway {

// INVALID_ARGUMENT if the name is empty or contains a colon (which separates a
// name from an output's index), white space or a control character.
absl::Status CheckNodeName(std::string_view name);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_NODE_NAME_H_
