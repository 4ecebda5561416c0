// GraphBuilder: makes graphs from op names, attributes and tensors; shapes are
// inferred and checked at once. Layers (models/layers/layers.h) and optimizers
// (training/optimizer.h) are free functions that take a NameScope of a builder.
//
//   GraphBuilder g;                     // the ops of this library
//   Tensor x = g.Placeholder("x", DType::kFloat32, {64, 10});
//   Tensor y = Dense(g.Scope("fc"), x, {.units = 1}) * 2;
//   SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
//
// Errors surface once: after the first error every call does nothing and
// returns an invalid Tensor, and Build() returns that error, which names the
// node. Build() ends the builder: later calls do nothing and another Build() is
// FAILED_PRECONDITION. No argument ends the program, not even an invalid
// tensor, a tensor of another builder or a bad name.
// Ownership: NameScope and Tensor are small handles that borrow the builder; a
// tensor's id and type outlive it. Threads: not thread-safe.
#ifndef SPILLWAY_GRAPH_BUILDER_BUILDER_H_
#define SPILLWAY_GRAPH_BUILDER_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/builder/tensor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/standard_ops.h"

namespace spillway {

// A prefix for node names: "conv1/".
class NameScope {
 public:
  // The root scope. NOLINTNEXTLINE(google-explicit-constructor)
  NameScope(GraphBuilder& builder) : builder_(&builder) {}

  GraphBuilder& builder() const { return *builder_; }
  // "" or "conv1/"
  const std::string& prefix() const { return prefix_; }

  // The name must not be empty (null counts as empty); it may have '/' in it.
  NameScope Scope(std::string_view name) const;
  NameScope Scope(const char* name) const;
  // "conv1" without the slash, for messages; "" for the root.
  std::string_view name() const;

 private:
  friend class GraphBuilder;
  NameScope(GraphBuilder* builder, std::string prefix)
      : builder_(builder), prefix_(std::move(prefix)) {}

  GraphBuilder* builder_;
  std::string prefix_;
};

// One node to add. If the name is empty, the op's name is used.
struct OpSpec {
  std::string op = {};
  std::vector<Tensor> inputs = {};
  Attributes attributes = {};
  std::string name = {};
  std::vector<Tensor> control_inputs = {};  // the nodes that produce these
  // Types of the outputs of a plan-only node, whose op is not registered: it
  // can be planned and simulated, but not run. Nullopt for any other node.
  std::optional<std::vector<TensorType>> outputs = {};
};

class GraphBuilder {
 public:
  // With the ops of StandardOps(): link spillway::ops.
  GraphBuilder() : GraphBuilder(StandardOps()) {}
  explicit GraphBuilder(std::string graph_name)
      : GraphBuilder(StandardOps(), std::move(graph_name)) {}
  // `registry` is borrowed for the lifetime of the builder.
  explicit GraphBuilder(const OpRegistry& registry,
                        std::string graph_name = "graph");
  explicit GraphBuilder(const OpRegistry&&, std::string = "") = delete;
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  NameScope Scope(std::string_view name) {
    return NameScope(*this).Scope(name);
  }
  NameScope Scope(const char* name) { return NameScope(*this).Scope(name); }
  // The scope in which the node of `tensor` was made; the root for a tensor of
  // another builder.
  NameScope ScopeOf(Tensor tensor);

  // Adds a feed of this type, named exactly `name`, which must be new.
  Tensor Placeholder(std::string_view name, DType dtype, const Shape& shape);
  Tensor Placeholder(const char* name, DType dtype, const Shape& shape);

  // Adds a node named scope + name. AddAll returns all its outputs (empty after
  // an error), Add the first. A name that is taken is made unique with _1, _2,
  // ...; the name of a Variable must be new, since programs and checkpoints
  // find variables by name.
  std::vector<Tensor> AddAll(const NameScope& scope, OpSpec spec);
  Tensor Add(const NameScope& scope, OpSpec spec);

  // Orders the producer of `before` before the producer of `after`.
  void AddControlEdge(Tensor before, Tensor after);

  // Remembers the first error; also for layers that find an error themselves.
  void Fail(const absl::Status& status);
  const absl::Status& status() const { return status_; }

  // The graph so far; empty after Build().
  const Graph& graph() const { return graph_; }
  const OpRegistry& registry() const { return registry_; }
  // Tells builders apart: repeats only after 65536 builders.
  uint16_t serial() const { return serial_; }

  // The finished, verified graph, or the first error. FAILED_PRECONDITION when
  // an earlier call has returned the graph.
  absl::StatusOr<Graph> Build() &&;

 private:
  // The node to add, without its name.
  absl::StatusOr<NodeSpec> MakeNodeSpec(OpSpec spec) const;
  absl::StatusOr<std::string> NodeName(const NameScope& scope,
                                       const OpSpec& spec) const;

  const OpRegistry& registry_;
  const uint16_t serial_;
  Graph graph_;
  absl::Status status_;
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_BUILDER_BUILDER_H_
