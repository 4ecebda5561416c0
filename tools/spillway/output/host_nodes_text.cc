#include "tools/spillway/output/host_nodes_text.h"

#include <vector>

#include "base/counted.h"
#include "base/units.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// Of all programs, in order.
std::vector<std::string> NodeNames(const PlacementReport& placement) {
  std::vector<std::string> names;
  for (const std::vector<std::string>& of_program : placement.nodes) {
    names.insert(names.end(), of_program.begin(), of_program.end());
  }
  return names;
}

}  // namespace

std::string FormatHostNodes(const PlacementReport& placement) {
  if (placement.is_empty()) return "";
  const std::vector<std::string> names = NodeNames(placement);
  return fmt::format(
      "on the host  {}{}, {} ({})\n", Counted(names.size(), "node"),
      names.empty() ? ""
                    : fmt::format(" ({}{})", names.front(),
                                  names.size() > 1 ? ", ..." : ""),
      Counted(placement.variables.size(), "variable"),
      FormatBytes(placement.variable_bytes));
}

void AddHostNodesJson(const PlacementReport& placement, Json& json) {
  if (placement.mode == PlaceMode::kOff) return;
  json["host_nodes"] = {{"place", std::string(PlaceModeName(placement.mode))},
                        {"nodes", NodeNames(placement)},
                        {"variables", placement.variables},
                        {"variable_bytes", placement.variable_bytes}};
}

}  // namespace spillway
