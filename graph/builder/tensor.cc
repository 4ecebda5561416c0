#include "graph/builder/tensor.h"

#include <utility>
#include <vector>

#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

Tensor Binary(const char* op, Tensor a, Tensor b) {
  const Tensor in_builder = a.builder() != nullptr ? a : b;
  GraphBuilder* builder = in_builder.builder();
  if (builder == nullptr) return Tensor();  // no builder to tell
  return builder->Add(builder->ScopeOf(in_builder),
                      {.op = op, .inputs = {a, b}});
}

// A scalar of the dtype of `like`, in its scope; invalid without a builder.
Tensor Number(double value, Tensor like) {
  if (like.builder() == nullptr) return Tensor();
  GraphBuilder& builder = *like.builder();
  return builder.Add(
      builder.ScopeOf(like),
      {.op = std::string(kConst),
       .attributes = {
           {"dtype", like.dtype()}, {"shape", Shape()}, {"value", value}}});
}

// The ops broadcast only their second input.
bool IsSpread(Tensor a, Tensor b) {
  return a.is_valid() && b.is_valid() && a.shape().rank() < b.shape().rank();
}

}  // namespace

Tensor::Tensor(GraphBuilder* builder, ValueId id) {
  if (builder == nullptr || !id.is_valid() ||
      id.index() >= builder->graph().num_values()) {
    return;
  }
  builder_ = builder;
  builder_serial_ = builder->serial();
  id_ = id;
  SetType(builder->graph().type(id));
}

Tensor::Tensor(const Graph& graph, ValueId id) {
  if (!id.is_valid() || id.index() >= graph.num_values()) return;
  id_ = id;
  SetType(graph.type(id));
}

void Tensor::SetType(const TensorType& type) {
  dtype_ = type.dtype;
  rank_ = static_cast<uint8_t>(type.shape.rank());
  for (size_t i = 0; i < rank_; ++i) {
    const auto dim = static_cast<uint64_t>(type.shape.dims()[i]);
    dims_low_[i] = static_cast<uint32_t>(dim);
    dims_high_[i] = static_cast<uint16_t>(dim >> 32);
  }
}

Shape Tensor::shape() const {
  std::vector<int64_t> dims(rank_);
  for (size_t i = 0; i < rank_; ++i) {
    dims[i] = (int64_t{dims_high_[i]} << 32) | dims_low_[i];
  }
  return Shape(std::move(dims));
}

bool Tensor::is_of(const GraphBuilder& builder) const {
  return builder_ == &builder && builder_serial_ == builder.serial();
}

Tensor operator+(Tensor a, Tensor b) {
  return IsSpread(a, b) ? Binary("Add", b, a) : Binary("Add", a, b);
}

Tensor operator*(Tensor a, Tensor b) {
  return IsSpread(a, b) ? Binary("Mul", b, a) : Binary("Mul", a, b);
}

// -b + a rounds as a - b does.
Tensor operator-(Tensor a, Tensor b) {
  return IsSpread(a, b) ? b * -1.0 + a : Binary("Sub", a, b);
}

Tensor operator+(Tensor a, double b) { return a + Number(b, a); }
Tensor operator-(Tensor a, double b) { return a - Number(b, a); }
Tensor operator*(Tensor a, double b) { return a * Number(b, a); }
Tensor operator+(double a, Tensor b) { return b + Number(a, b); }
Tensor operator-(double a, Tensor b) { return b * -1.0 + a; }
Tensor operator*(double a, Tensor b) { return b * Number(a, b); }

}  // namespace spillway
