// The ops of this library, declared here for code that builds graphs. Defined
// in ops/all_ops.cc: link spillway::ops to use them.
#ifndef SPILLWAY_GRAPH_STANDARD_OPS_H_
#define SPILLWAY_GRAPH_STANDARD_OPS_H_

#include "graph/op_registry.h"

namespace spillway {

// The schemas of all ops of ops/, built on first use and constant afterwards.
const OpRegistry& StandardOps();

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_STANDARD_OPS_H_
