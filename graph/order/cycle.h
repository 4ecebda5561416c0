// Describes a cycle, for the errors of all code that orders nodes.
#ifndef SPILLWAY_GRAPH_ORDER_CYCLE_H_
#define SPILLWAY_GRAPH_ORDER_CYCLE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace spillway {

// `waits_for` maps a node that could not be ordered to a predecessor that could
// not be ordered either. Follows it from `start` until a node repeats, and
// returns that cycle along its edges: "a -> b -> c -> a". The middle of a long
// cycle is left out.
std::string DescribeCycle(int32_t start,
                          absl::FunctionRef<int32_t(int32_t)> waits_for,
                          absl::FunctionRef<std::string_view(int32_t)> name);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ORDER_CYCLE_H_
