// Const, CopyToDevice, CopyToHost, Placeholder, SwapIn, SwapOut, Variable: no
// kernel, so only types are tested. For values see
// tests/executor/session/resident_values_test.cc.
#include <string>
#include <vector>

#include "tests/ops/cases/all_cases.h"

namespace spillway::testing {
namespace {

OpCase Stated(const std::string& name, const std::string& op,
              Attributes attributes) {
  attributes.Set("dtype", "int32");
  attributes.Set("shape", {2, 3});
  return {.name = name,
          .op = op,
          .attributes = attributes,
          .outputs = {Int32({2, 3})}};
}

OpCase Copy(const std::string& op) {
  return {.name = op,
          .op = op,
          .inputs = {{.type = Int32({2, 3})}},
          .outputs = {Int32({2, 3})}};
}

AttributeValue::Object Kind(const std::string& kind) {
  return {{"kind", kind}};
}

std::vector<BadOp> BadSources() {
  const Attributes type = {{"dtype", "float32"}, {"shape", {2, 3}}};
  const auto with = [type](const std::string& name, AttributeValue value) {
    Attributes attributes = type;
    attributes.Set(name, std::move(value));
    return attributes;
  };
  return {
      {.name = "PlaceholderWithoutShape",
       .op = "Placeholder",
       .attributes = {{"dtype", "float32"}},
       .error = "attribute 'shape' is missing"},
      {.name = "PlaceholderOfEmptyShape",
       .op = "Placeholder",
       .attributes = {{"dtype", "float32"}, {"shape", {2, 0}}},
       .error = "attribute 'shape'"},
      {.name = "VariableOfUnknownType",
       .op = "Variable",
       .attributes = {{"dtype", "complex"}, {"shape", {2}}},
       .error = "names no dtype: 'complex'"},
      {.name = "VariableOfUnknownKind",
       .op = "Variable",
       .attributes = with("initializer", Kind("magic")),
       .error = "attribute 'initializer': kind 'magic' is none of zeros"},
      {.name = "VariableTrainableByText",
       .op = "Variable",
       .attributes = with("trainable", "yes"),
       .error = "attribute 'trainable' must be a bool"},
      {.name = "ConstWithoutValue",
       .op = "Const",
       .attributes = type,
       .error = "needs either attribute 'value' or 'values'"},
      {.name = "ConstOfTooFewValues",
       .op = "Const",
       .attributes = with("values", {1, 2}),
       .error = "has 2 items; float32[2, 3] needs 6"},
      {.name = "CopyToDeviceOfNothing",
       .op = "CopyToDevice",
       .error = "takes 1 input"},
      {.name = "CopyToHostOfNothing",
       .op = "CopyToHost",
       .error = "takes 1 input"},
      {.name = "SwapInOfNothing", .op = "SwapIn", .error = "takes 1 input"},
      {.name = "SwapOutOfNothing", .op = "SwapOut", .error = "takes 1 input"},
  };
}

}  // namespace

OpCases SourceCases() {
  return {
      .good =
          {
              Copy("CopyToDevice"),
              Copy("CopyToHost"),
              Copy("SwapIn"),
              Copy("SwapOut"),
              Stated("Const", "Const", {{"value", 7}}),
              Stated("ConstList", "Const", {{"values", {1, 2, 3, 4, 5, 6}}}),
              Stated("Placeholder", "Placeholder", {}),
              Stated("Variable", "Variable", {{"trainable", false}}),
              Stated("VariableOfOnes", "Variable",
                     {{"initializer", Kind("ones")}}),
          },
      .bad = BadSources(),
  };
}

}  // namespace spillway::testing
