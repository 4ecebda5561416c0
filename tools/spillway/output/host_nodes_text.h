// What --place has put on the host, as text and JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_HOST_NODES_TEXT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_HOST_NODES_TEXT_H_

#include <optional>
#include <string>

#include "tools/spillway/output/output.h"
#include "tuner/placement/place_programs.h"

namespace spillway {

// "on the host  2 nodes (fc1/MatMul, ...), 4 variables (12 MiB)" and a newline;
// "" if nothing is.
std::string FormatHostNodes(const PlacementReport& placement);

// Adds "host_nodes" if --place was given. All programs' nodes are listed.
void AddHostNodesJson(const PlacementReport& placement, Json& json);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_HOST_NODES_TEXT_H_
