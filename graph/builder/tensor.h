// Tensor: a value of the graph that is being built, and the operators + - * on
// it. A small handle, copied like a number, that carries its own type.
#ifndef SPILLWAY_GRAPH_BUILDER_TENSOR_H_
#define SPILLWAY_GRAPH_BUILDER_TENSOR_H_

#include <array>
#include <cstdint>

#include "graph/node.h"
#include "graph/shape.h"
#include "graph/tensor_type.h"

namespace spillway {

class Graph;
class GraphBuilder;

// Stands wherever a ValueId does: in fetches, as the key of a feed, as an
// argument. Id and type stay valid after Build() and when the builder is gone.
class Tensor {
 public:
  Tensor() = default;  // invalid
  // The value `id` of the graph that `builder` has built so far; invalid if
  // there is none. Borrows the builder.
  Tensor(GraphBuilder* builder, ValueId id);
  // A value of a finished graph, as after passes; without a builder.
  Tensor(const Graph& graph, ValueId id);

  bool is_valid() const { return id_.is_valid(); }
  ValueId id() const { return id_; }
  // NOLINTNEXTLINE(google-explicit-constructor): what the handle is for.
  operator ValueId() const { return id_; }

  // An invalid tensor is a float32 scalar.
  DType dtype() const { return dtype_; }
  Shape shape() const;
  TensorType type() const { return {.dtype = dtype_, .shape = shape()}; }

  // Null if invalid or of a finished graph. Not to be followed once it is gone.
  GraphBuilder* builder() const { return builder_; }
  // False for a tensor without a builder, and for one of an earlier builder
  // that was at the same address.
  bool is_of(const GraphBuilder& builder) const;

 private:
  void SetType(const TensorType& type);

  GraphBuilder* builder_ = nullptr;
  ValueId id_;
  uint16_t builder_serial_ = 0;
  // The type, without a heap allocation: tensors are passed by value. A
  // dimension is below 2^46 (CheckShape); its low 32 bits and the rest.
  DType dtype_ = DType::kFloat32;
  uint8_t rank_ = 0;
  std::array<uint32_t, Shape::kMaxRank> dims_low_ = {};
  std::array<uint16_t, Shape::kMaxRank> dims_high_ = {};
};
// Above this, GCC warns of `for (Tensor x : xs)`.
static_assert(sizeof(Tensor) <= 64);

// Sum, difference and product, element by element: nodes of the ops Add, Sub
// and Mul (which the registry must have). One tensor may be a scalar, or a
// vector over the last dimension of the other; a number becomes a Const of the
// other operand's dtype. Tensors must have the same dtype, which is a floating
// one. Nodes are named for their op, made unique, in the scope of the left
// operand's node (the tensor's, where the other is a number): fc/Add, fc/Add_1.
// Errors: kept in the builder, as those of GraphBuilder::Add; the result is
// then invalid, as it is where neither operand has one. It must be alive.
Tensor operator+(Tensor a, Tensor b);
Tensor operator-(Tensor a, Tensor b);
Tensor operator*(Tensor a, Tensor b);
Tensor operator+(Tensor a, double b);
Tensor operator-(Tensor a, double b);
Tensor operator*(Tensor a, double b);
Tensor operator+(double a, Tensor b);
Tensor operator-(double a, Tensor b);
Tensor operator*(double a, Tensor b);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_BUILDER_TENSOR_H_
