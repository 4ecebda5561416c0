// The ops of this library, declared where graphs are built from them. Defined
// in ops/all_ops.cc: link spillway::ops to use them.
#ifndef SPILLWAY_GRAPH_STANDARD_OPS_H_
#define SPILLWAY_GRAPH_STANDARD_OPS_H_

#include "graph/op_registry.h"

namespace spillway {

// The schemas of all ops of ops/, built on first use and then constant.
const OpRegistry& StandardOps();

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_STANDARD_OPS_H_
