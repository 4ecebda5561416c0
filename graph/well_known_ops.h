// Names of the ops that passes and the executor treat specially.
#ifndef SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_
#define SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_

#include <string_view>

namespace spillway {

inline constexpr std::string_view kPlaceholder = "Placeholder";
inline constexpr std::string_view kVariable = "Variable";
inline constexpr std::string_view kConst = "Const";
inline constexpr std::string_view kSwapOut = "SwapOut";
inline constexpr std::string_view kSwapIn = "SwapIn";

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_
