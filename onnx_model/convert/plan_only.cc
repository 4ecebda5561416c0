#include "onnx_model/convert/plan_only.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"
#include "onnx_model/file/node_order.h"

namespace spillway::onnx_model {
namespace {

// The op's name in the graph, which must not be an op of ours, nor may that of
// its gradient.
std::string PlanOnlyOp(const onnx::NodeProto& node, const OpRegistry& ops) {
  std::string op = node.op_type();
  for (char& c : op) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (op.empty() || ops.Find(op) != nullptr ||
      ops.Find(op + "Grad") != nullptr) {
    return "Onnx" + op;
  }
  return op;
}

// A tensor for an output [dims] that lies as `like` does, where that has as
// many dimensions and each of them is an axis: what follows a convolution is
// channels-last too.
Order OrderLike(const std::optional<Arranged>& like,
                const std::vector<int64_t>& dims) {
  const auto rank = static_cast<int>(dims.size());
  Order order = Identity(rank);
  if (!like.has_value() || like->rank() != rank ||
      like->tensor.shape().rank() != rank) {
    return order;
  }
  Order found(dims.size(), -1);
  for (int dim = 0; dim < rank; ++dim) {
    const std::optional<int> axis = like->OnlyAxis(dim);
    if (!axis.has_value()) return order;
    found[static_cast<size_t>(*axis)] = dim;
  }
  return found;
}

class PlanOnlyNode {
 public:
  PlanOnlyNode(const onnx::NodeProto& node, ImportState& state)
      : proto_(node), state_(state) {}

  // Fills outputs_; returns those that it cannot.
  std::vector<std::string> FindOutputs(const StatedTypes& stated) {
    const NodeView node(proto_, state_.file().opset());
    const std::vector<StatedType> by_rule = OutputsByRule(node, state_);
    std::vector<std::string> unknown;
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (!node.has_output(i)) continue;
      std::optional<StatedType> type = stated.Find(node.output(i));
      if (!type.has_value() && static_cast<size_t>(i) < by_rule.size()) {
        type = by_rule[static_cast<size_t>(i)];
      }
      if (type.has_value() && DTypeOf(type->type).has_value() &&
          CheckShape(Shape(type->dims)).ok()) {
        outputs_.push_back({.name = node.output(i), .type = *type});
      } else {
        unknown.push_back(
            fmt::format("{} of {}", node.output(i), DescribeNode(proto_)));
      }
    }
    return unknown;
  }

  absl::Status Add() {
    GraphBuilder& g = state_.builder();
    OpSpec spec = {.op = PlanOnlyOp(proto_, g.registry()),
                   .outputs = std::vector<TensorType>()};
    std::optional<Arranged> first;
    for (const std::string& read : ReadsOf(proto_)) {
      SPILLWAY_ASSIGN_OR_RETURN(const Arranged x,
                                state_.TensorOf(*state_.Find(read)));
      if (!first.has_value()) first = x;
      spec.inputs.push_back(x.tensor);
    }
    std::vector<Order> orders;
    for (const Output& output : outputs_) {
      orders.push_back(OrderLike(first, output.type.dims));
      spec.outputs->push_back(TypeIn(orders.back(), output.type));
    }
    spec.name = state_.NodeName(proto_.name(), spec.op);
    const std::vector<Tensor> tensors = g.AddAll(g, std::move(spec));
    SPILLWAY_RETURN_IF_ERROR(g.status());
    for (size_t i = 0; i < tensors.size(); ++i) {
      ModelValue value = {.name = outputs_[i].name,
                          .type = outputs_[i].type.type,
                          .dims = outputs_[i].type.dims};
      value.arranged = InOrder(tensors[i], orders[i]);
      state_.Define(std::move(value));
    }
    return absl::OkStatus();
  }

 private:
  struct Output {
    std::string name = {};
    StatedType type = {};
  };

  // Reals are of the precision of activations.
  TensorType TypeIn(const Order& order, const StatedType& stated) const {
    std::vector<int64_t> dims;
    for (const int dim : order) {
      dims.push_back(stated.dims[static_cast<size_t>(dim)]);
    }
    return {.dtype = IsFloating(stated.type) ? state_.options().dtype
                                             : *DTypeOf(stated.type),
            .shape = Shape(dims)};
  }

  const onnx::NodeProto& proto_;
  ImportState& state_;
  std::vector<Output> outputs_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> AddPlanOnly(
    const onnx::NodeProto& node, const StatedTypes& stated,
    ImportState& state) {
  PlanOnlyNode added(node, state);
  std::vector<std::string> unknown = added.FindOutputs(stated);
  if (unknown.empty()) SPILLWAY_RETURN_IF_ERROR(added.Add());
  return unknown;
}

}  // namespace spillway::onnx_model
