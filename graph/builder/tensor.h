// Tensor: a value of the graph under construction, and the operators + - * on
// it. A small handle that carries its own type and is passed by value.
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

// Can be used wherever a ValueId can: in fetches, as the key of a feed, as an
// argument. Id and type stay valid after Build() and after the builder is
// destroyed.
class Tensor {
 public:
  Tensor() = default;  // invalid
  // The value `id` of the graph that `builder` has built so far; invalid if it
  // does not exist. Borrows the builder.
  Tensor(GraphBuilder* builder, ValueId id);
  // A value of a finished graph, for example after passes; has no builder.
  Tensor(const Graph& graph, ValueId id);

  bool is_valid() const { return id_.is_valid(); }
  ValueId id() const { return id_; }
  // the purpose of the handle.
  operator ValueId() const { return id_; }

  // For an invalid tensor: those of a float32 scalar.
  DType dtype() const { return dtype_; }
  Shape shape() const;
  TensorType type() const { return {.dtype = dtype_, .shape = shape()}; }

  // Null if invalid or of a finished graph. Dangles once the builder is
  // destroyed.
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
  // dimension is below 2^46 (CheckShape); stored as its low 32 bits and the
  // rest.
  DType dtype_ = DType::kFloat32;
  uint8_t rank_ = 0;
  std::array<uint32_t, Shape::kMaxRank> dims_low_ = {};
  std::array<uint16_t, Shape::kMaxRank> dims_high_ = {};
};
// Above this size, GCC warns about `for (Tensor x : xs)`.
static_assert(sizeof(Tensor) <= 64);

// Sum, difference and product, element by element: nodes of the ops Add, Sub
// and Mul (which the registry must have). One tensor may be a scalar, or a
// vector over the last dimension of the other; a number becomes a Const of the
// other operand's dtype. Tensors must have the same floating-point dtype. Nodes
// are named after their op, made unique, in the scope of the left operand's
// node (the tensor's, if the other operand is a number): fc/Add, fc/Add_1.
// Errors: kept in the builder, as by GraphBuilder::Add; the result is then
// invalid. If neither operand has a builder, the result is invalid too. The
// builder must be alive.
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
