// The passes that run on every graph by default.
#ifndef SPILLWAY_GRAPH_PASSES_STANDARD_PASSES_H_
#define SPILLWAY_GRAPH_PASSES_STANDARD_PASSES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/passes/pass.h"

namespace spillway {

// In the order in which they run.
std::span<const Pass> StandardPasses();

// What the graph will run on.
enum class PassTarget : uint8_t { kCpu, kGpu };

// "auto" (the passes that pay off on the target), "all", "none", or names
// separated by commas; passes run in the standard order. Errors:
// INVALID_ARGUMENT naming an unknown pass and listing the known ones.
absl::StatusOr<std::vector<Pass>> SelectPasses(std::string_view names,
                                               PassTarget target);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_STANDARD_PASSES_H_
