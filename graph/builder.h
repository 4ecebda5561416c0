// GraphBuilder: makes graphs from op names, attributes and tensors, with shapes
// inferred and checked at once. Layers (models/layers.h) and optimizers
// (training/optimizer.h) are free functions over a NameScope of it.
//
// Errors surface once: after the first one every call does nothing and returns
// an invalid Tensor, and Build() returns that first error, which names the
// node. Ownership: NameScope and Tensor are small handles that borrow the
// builder. Threads: none of its own.
#ifndef SPILLWAY_GRAPH_BUILDER_H_
#define SPILLWAY_GRAPH_BUILDER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

class GraphBuilder;

// A value of the graph being built. Usable after Build() too, as an id.
class Tensor {
 public:
  Tensor() = default;  // invalid
  Tensor(GraphBuilder* builder, ValueId id) : builder_(builder), id_(id) {}

  bool is_valid() const { return id_.is_valid(); }
  ValueId id() const { return id_; }
  GraphBuilder* builder() const { return builder_; }

  // Only while the builder lives. An invalid tensor has an empty float32 type.
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }

 private:
  GraphBuilder* builder_ = nullptr;
  ValueId id_;
};

// A prefix for node names: "conv1/".
class NameScope {
 public:
  // The root scope. NOLINTNEXTLINE(google-explicit-constructor)
  NameScope(GraphBuilder& builder) : builder_(&builder) {}
  NameScope(GraphBuilder* builder, std::string prefix)
      : builder_(builder), prefix_(std::move(prefix)) {}

  GraphBuilder& builder() const { return *builder_; }
  // "" or "conv1/"
  const std::string& prefix() const { return prefix_; }

  NameScope Scope(std::string_view name) const;
  // "conv1" without the slash, for messages; "" for the root.
  std::string_view name() const;

 private:
  GraphBuilder* builder_;
  std::string prefix_;
};

// One node to add. An empty name means the op's.
struct OpSpec {
  std::string op = {};
  std::vector<Tensor> inputs = {};
  Attributes attributes = {};
  std::string name = {};
  std::vector<Tensor> control_inputs = {};  // their producers
};

class GraphBuilder {
 public:
  // `registry` is borrowed for the life of the builder.
  explicit GraphBuilder(const OpRegistry& registry,
                        std::string graph_name = "graph");
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  NameScope Scope(std::string_view name) {
    return NameScope(*this).Scope(name);
  }

  // A feed of this type, named exactly `name`.
  Tensor Placeholder(std::string_view name, DType dtype, const Shape& shape);

  // Adds a node named scope + name (made unique by _1, _2, ...) and returns all
  // its outputs (none after an error), or the first.
  std::vector<Tensor> AddAll(const NameScope& scope, OpSpec spec);
  Tensor Add(const NameScope& scope, OpSpec spec);

  // Orders the producer of `before` before the producer of `after`.
  void AddControlEdge(Tensor before, Tensor after);

  // Remembers the first error; for layers that find one of their own.
  void Fail(const absl::Status& status);
  const absl::Status& status() const { return status_; }

  const Graph& graph() const { return graph_; }
  const OpRegistry& registry() const { return registry_; }

  // The finished, verified graph, or the first error.
  absl::StatusOr<Graph> Build() &&;

 private:
  const OpRegistry& registry_;
  Graph graph_;
  absl::Status status_;
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_BUILDER_H_
