// Node, Value and Use: the plain structs a Graph is made of.
#ifndef SPILLWAY_GRAPH_NODE_H_
#define SPILLWAY_GRAPH_NODE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway {

using NodeId = StrongId<struct NodeTag>;
using ValueId = StrongId<struct ValueTag>;

// Where a node runs and where its inputs and outputs live. Copies between the
// two are the exception: SwapOut, SwapIn and CopyToHost are host nodes, and
// CopyToDevice is a device node; their outputs live where their names say.
enum class Placement : uint8_t { kDevice, kHost };

// Stated cost of a plan-only node (and an override for a registered one).
struct StatedCost {
  double flops = 0;
  double bytes = 0;
  int64_t workspace_bytes = 0;
  double time_us = 0;

  friend bool operator==(const StatedCost&, const StatedCost&) = default;
};

struct Node {
  NodeId id = {};
  std::string name = {};  // unique in its graph
  std::string op = {};
  std::vector<ValueId> inputs = {};
  std::vector<NodeId> control_inputs = {};  // no duplicates
  std::vector<ValueId> outputs = {};
  Attributes attributes = {};
  Placement placement = Placement::kDevice;
  std::optional<StatedCost> cost = {};
};

// Output `index` of node `producer`.
struct Value {
  NodeId producer = {};
  int32_t index = 0;
  TensorType type = {};
};

// Input slot `slot` of node `node`.
struct Use {
  NodeId node = {};
  int32_t slot = 0;

  friend auto operator<=>(const Use&, const Use&) = default;
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_NODE_H_
