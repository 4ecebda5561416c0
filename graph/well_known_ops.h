// Names of the ops and nodes that passes and the executor treat specially.
#ifndef SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_
#define SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_

#include <string_view>

namespace spillway {

inline constexpr std::string_view kPlaceholder = "Placeholder";
inline constexpr std::string_view kVariable = "Variable";
inline constexpr std::string_view kConst = "Const";
inline constexpr std::string_view kSwapOut = "SwapOut";
inline constexpr std::string_view kSwapIn = "SwapIn";

// How the names of clones begin: nodes that compute the values of other nodes a
// second time (lms/recompute/recompute_plan.h).
inline constexpr std::string_view kClonePrefix = "lms/recompute_";

inline bool IsCloneName(std::string_view name) {
  return name.starts_with(kClonePrefix);
}

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_
