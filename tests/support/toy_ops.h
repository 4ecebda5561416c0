// A small registry of ops for tests of plans: shapes and aliasing rules, but no
// kernels.
#ifndef SPILLWAY_TESTS_SUPPORT_TOY_OPS_H_
#define SPILLWAY_TESTS_SUPPORT_TOY_OPS_H_

#include "graph/op_registry.h"
#include "graph/well_known_ops.h"

namespace spillway::testing {

// Variable (resident), Update (overwrites input 0 with input 1), InPlace (one
// input that the output may take over), AllReduce (the same, on its lane),
// InPlaceBoth and Alias (output is the input). Other op names are plan-only.
inline OpRegistry ToyOps() {
  const auto same_as_input = [](const InferContext& context)
      -> absl::StatusOr<std::vector<TensorType>> {
    return std::vector<TensorType>{context.inputs[0]};
  };
  OpRegistry ops;
  OpDef variable{
      .name = std::string(kVariable),
      .outputs = {"y"},
      .infer =
          [](const InferContext&) -> absl::StatusOr<std::vector<TensorType>> {
        return std::vector<TensorType>{
            {.dtype = DType::kFloat32, .shape = {64}}};
      }};
  variable.resident = true;
  ops.Add(std::move(variable));
  ops.Add({.name = "Update",
           .inputs = {"variable", "gradient"},
           .outputs = {"y"},
           .infer = same_as_input,
           .alias = {{.input = 0, .output = 0}},
           .mutates = {0}});
  ops.Add({.name = "InPlace",
           .inputs = {"x"},
           .outputs = {"y"},
           .infer = same_as_input,
           .in_place = {{.input = 0, .output = 0}}});
  ops.Add({.name = std::string(kAllReduce),
           .inputs = {"x"},
           .outputs = {"y"},
           .infer = same_as_input,
           .in_place = {{.input = 0, .output = 0}}});
  ops.Add({.name = "InPlaceBoth",
           .inputs = {"a", "b"},
           .outputs = {"x", "y"},
           .infer = [](const InferContext& node)
               -> absl::StatusOr<std::vector<TensorType>> {
             return std::vector<TensorType>{node.inputs[0], node.inputs[0]};
           },
           .in_place = {{.input = 0, .output = 0},
                        {.input = 1, .output = 0},
                        {.input = 0, .output = 1}},
           .in_place_together = true});
  ops.Add({.name = "Alias",
           .inputs = {"x"},
           .outputs = {"y"},
           .infer = same_as_input,
           .alias = {{.input = 0, .output = 0}}});
  return ops;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_TOY_OPS_H_
