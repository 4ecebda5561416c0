// The text of a cycle, for the errors of everything that orders nodes.
#ifndef SPILLWAY_GRAPH_ORDER_CYCLE_H_
#define SPILLWAY_GRAPH_ORDER_CYCLE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace spillway {

// Follows `waits_for` (a node outside of every order -> one before it that is
// outside too) from `start` until a node comes again, and returns that cycle
// along its edges: "a -> b -> c -> a". Long ones are shortened in the middle.
std::string DescribeCycle(int32_t start,
                          absl::FunctionRef<int32_t(int32_t)> waits_for,
                          absl::FunctionRef<std::string_view(int32_t)> name);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ORDER_CYCLE_H_
