#include "models/layers/transformer_layers.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "models/layers/layer_parts.h"
#include "models/layers/layers.h"

namespace spillway {
namespace {

using layer::HasRank;

Tensor AddOp(const NameScope& scope, std::string op, std::vector<Tensor> inputs,
             Attributes attributes = {}) {
  return scope.builder().Add(scope, {.op = std::move(op),
                                     .inputs = std::move(inputs),
                                     .attributes = std::move(attributes)});
}

// Dense at each place of x [batch, length, width].
Tensor DenseAtPlaces(const NameScope& scope, Tensor x, int64_t units) {
  if (!HasRank(scope, x, 3)) return Tensor();
  const Shape shape = x.shape();
  const Tensor rows =
      Reshape(scope, x, {shape.dim(0) * shape.dim(1), shape.dim(2)});
  const Tensor y =
      Dense(scope, rows, {.units = units, .initializer = TransformerWeights()});
  return Reshape(scope, y, {shape.dim(0), shape.dim(1), units});
}

// Queries, keys and values, each [batch, heads, length, depth], from x [batch,
// length, 3 heads depth].
std::array<Tensor, 3> SplitHeads(const NameScope& scope, Tensor x,
                                 int64_t heads) {
  const int64_t batch = x.shape().dim(0);
  const int64_t length = x.shape().dim(1);
  const int64_t depth = x.shape().dim(2) / (3 * heads);
  const Tensor apart = Reshape(scope, x, {batch, length, 3, heads, depth});
  const Tensor in_order =
      AddOp(scope, "Transpose", {apart},
            {{"perm", std::vector<int64_t>{2, 0, 3, 1, 4}}});
  std::array<Tensor, 3> parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor part = AddOp(
        scope, "Slice", {in_order},
        {{"begin", std::vector<int64_t>{static_cast<int64_t>(i), 0, 0, 0, 0}},
         {"size", Shape({1, batch, heads, length, depth})}});
    parts[i] = Reshape(scope, part, {batch, heads, length, depth});
  }
  return parts;
}

// The numbers 0, 1, .. as a tensor.
Tensor Places(const NameScope& scope, const Shape& shape) {
  AttributeValue::List values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) values.emplace_back(i);
  return AddOp(
      scope, "Const", {},
      {{"dtype", DType::kInt32}, {"shape", shape}, {"values", values}});
}

// Scores [.., length, length] of later places become so small that softmax
// gives them 0.
Tensor HideLater(const NameScope& scope, Tensor scores) {
  constexpr double kHidden = -1e9;
  const int64_t length = scores.shape().dim(-1);
  const Tensor seen =
      AddOp(scope, "LessEqual",
            {Places(scope, {1, length}), Places(scope, {length, 1})});
  return AddOp(scope, "Select",
               {seen, scores, Constant(scope, scores.dtype(), kHidden)});
}

}  // namespace

Tensor LayerNorm(const NameScope& scope, Tensor x, double epsilon) {
  if (!scope.builder().status().ok() || !x.is_valid()) return Tensor();
  const Shape width = {x.shape().dim(-1)};
  const Tensor scale =
      AddVariable(scope, {.name = "scale",
                          .shape = width,
                          .initializer = Initializer::Constant(1)});
  const Tensor offset =
      AddVariable(scope, {.name = "offset",
                          .shape = width,
                          .initializer = Initializer::Constant(0)});
  return AddOp(scope, "LayerNorm", {x, scale, offset}, {{"epsilon", epsilon}});
}

Tensor SelfAttention(const NameScope& scope, Tensor x,
                     const TransformerOptions& options) {
  if (!HasRank(scope, x, 3)) return Tensor();
  const int64_t width = x.shape().dim(2);
  if (options.heads < 1 || width % options.heads != 0) {
    scope.builder().Fail(
        InvalidArgument(fmt::format("{}: {} heads do not divide a width of {}",
                                    scope.name(), options.heads, width)));
    return Tensor();
  }
  const Tensor all = DenseAtPlaces(scope.Scope("qkv"), x, 3 * width);
  if (!all.is_valid()) return Tensor();
  const auto [queries, keys, values] = SplitHeads(scope, all, options.heads);
  if (!values.is_valid()) return Tensor();
  const int64_t depth = width / options.heads;
  Tensor scores = AddOp(
      scope, "BatchMatMul",
      {Scale(scope, queries, 1 / std::sqrt(static_cast<double>(depth))), keys},
      {{"transpose_b", true}});
  if (!scores.is_valid()) return Tensor();
  if (options.is_causal) scores = HideLater(scope, scores);
  const Tensor mixed =
      AddOp(scope, "BatchMatMul", {Softmax(scope, scores), values});
  const Tensor places = AddOp(scope, "Transpose", {mixed},
                              {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  return DenseAtPlaces(scope.Scope("out"), Reshape(scope, places, x.shape()),
                       width);
}

Tensor TransformerBlock(const NameScope& scope, Tensor x,
                        const TransformerOptions& options) {
  if (!HasRank(scope, x, 3)) return Tensor();
  const int64_t width = x.shape().dim(2);
  const int64_t hidden = options.hidden == 0 ? 4 * width : options.hidden;
  const Tensor attended = SelfAttention(
      scope.Scope("attention"),
      LayerNorm(scope.Scope("norm1"), x, options.epsilon), options);
  x = Add(scope, x, attended);
  Tensor y = LayerNorm(scope.Scope("norm2"), x, options.epsilon);
  y = DenseAtPlaces(scope.Scope("up"), y, hidden);
  y = AddOp(scope, "Gelu", {y});
  y = DenseAtPlaces(scope.Scope("down"), y, width);
  return Add(scope, x, y);
}

Tensor AddPositions(const NameScope& scope, Tensor x) {
  if (!HasRank(scope, x, 3)) return Tensor();
  const Tensor positions =
      AddVariable(scope, {.name = "weights",
                          .shape = {x.shape().dim(1), x.shape().dim(2)},
                          .initializer = TransformerWeights()});
  return Add(scope, x, CastTo(scope, positions, x.dtype()));
}

}  // namespace spillway
