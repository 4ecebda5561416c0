#include "tests/graph/scalar_ops.h"

#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"

namespace spillway::testing {
namespace {

using Types = std::vector<TensorType>;
using Gradients = std::vector<Tensor>;

absl::StatusOr<Types> InferSource(const InferContext& context) {
  TensorType type;
  SPILLWAY_ASSIGN_OR_RETURN(type.dtype, context.attributes.GetDType("dtype"));
  SPILLWAY_ASSIGN_OR_RETURN(type.shape, context.attributes.GetShape("shape"));
  return Types{type};
}

absl::StatusOr<Types> InferSame(const InferContext& context) {
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    if (context.inputs[i] != context.inputs[0]) {
      return InvalidArgument(fmt::format("expected inputs of type {}, not {}",
                                         context.inputs[0].ToString(),
                                         context.inputs[i].ToString()));
    }
  }
  return Types{context.inputs[0]};
}

OpDef Source(std::string name, std::vector<std::string> attributes) {
  return {.name = std::move(name),
          .outputs = {"y"},
          .attributes = std::move(attributes),
          .infer = InferSource};
}

OpDef Variable() {
  OpDef def = Source("Variable", {"dtype", "shape"});
  def.resident = true;
  return def;
}

OpDef Elementwise(std::string name, std::vector<std::string> inputs) {
  return {.name = std::move(name),
          .inputs = std::move(inputs),
          .outputs = {"y"},
          .infer = InferSame};
}

OpDef Identity() {
  OpDef def = Elementwise("Identity", {"x"});
  def.alias = {{.input = 0, .output = 0}};
  def.gradient = [](GradientContext& context) -> absl::StatusOr<Gradients> {
    return Gradients{context.dy(0)};
  };
  return def;
}

OpDef Negate() {
  OpDef def = Elementwise("Negate", {"x"});
  def.gradient = [](GradientContext& context) -> absl::StatusOr<Gradients> {
    return Gradients{context.Add("Negate", {context.dy(0)})};
  };
  return def;
}

OpDef Add() {
  OpDef def = Elementwise("Add", {"a", "b"});
  def.gradient = [](GradientContext& context) -> absl::StatusOr<Gradients> {
    return Gradients{context.dy(0), context.dy(0)};
  };
  return def;
}

OpDef Mul() {
  OpDef def = Elementwise("Mul", {"a", "b"});
  def.gradient = [](GradientContext& context) -> absl::StatusOr<Gradients> {
    return Gradients{context.Add("Mul", {context.dy(0), context.x(1)}),
                     context.Add("Mul", {context.dy(0), context.x(0)})};
  };
  return def;
}

OpDef AddN() {
  OpDef def = Elementwise("AddN", {"x"});
  def.variadic = true;
  def.gradient = [](GradientContext& context) -> absl::StatusOr<Gradients> {
    return Gradients(static_cast<size_t>(context.num_inputs()), context.dy(0));
  };
  return def;
}

OpDef SinCos() {
  OpDef def = Elementwise("SinCos", {"x"});
  def.outputs = {"sin", "cos"};
  def.infer = [](const InferContext& context) -> absl::StatusOr<Types> {
    return Types{context.inputs[0], context.inputs[0]};
  };
  // dx = dsin * cos - dcos * sin; either term may be missing.
  def.gradient = [](GradientContext& context) -> absl::StatusOr<Gradients> {
    Gradients terms;
    if (context.dy(0).is_valid()) {
      terms.push_back(context.Add("Mul", {context.dy(0), context.y(1)}));
    }
    if (context.dy(1).is_valid()) {
      const Tensor product = context.Add("Mul", {context.dy(1), context.y(0)});
      terms.push_back(context.Add("Negate", {product}));
    }
    return Gradients{context.Add("AddN", std::move(terms))};
  };
  return def;
}

OpDef StopGradient() {
  OpDef def = Elementwise("StopGradient", {"x"});
  def.gradient = [](GradientContext&) -> absl::StatusOr<Gradients> {
    return Gradients{Tensor()};
  };
  return def;
}

OpDef BadGradient() {
  OpDef def = Elementwise("BadGradient", {"x"});
  def.gradient = [](GradientContext& context) -> absl::StatusOr<Gradients> {
    return Gradients{context.Add(
        "Const", {},
        {{"dtype", DType::kFloat32}, {"shape", {2, 3}}, {"value", 0}})};
  };
  return def;
}

OpDef Assign() {
  OpDef def = Elementwise("Assign", {"variable", "x"});
  def.alias = {{.input = 0, .output = 0}};
  def.mutates = {0};
  return def;
}

}  // namespace

OpRegistry ScalarOps() {
  OpRegistry registry;
  registry.Add(Source("Placeholder", {"dtype", "shape"}));
  registry.Add(Variable());
  registry.Add(Source("Const", {"dtype", "shape", "value"}));
  registry.Add(Identity());
  registry.Add(Negate());
  registry.Add(Add());
  registry.Add(Mul());
  registry.Add(AddN());
  registry.Add(SinCos());
  registry.Add(Elementwise("Floor", {"x"}));
  registry.Add(StopGradient());
  registry.Add(BadGradient());
  registry.Add(Assign());
  return registry;
}

}  // namespace spillway::testing
