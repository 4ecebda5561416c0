// The worked example E1 of the TFLMS literature, as a plan-only graph.
//
//   F1 ----> F2 ----> F3 ----> F4
//    |        |        |        |
//   B1 <---- B2 <---- B3 <---- B4      B1 ----> U
#ifndef SPILLWAY_TESTS_LMS_CHAIN_E1_H_
#define SPILLWAY_TESTS_LMS_CHAIN_E1_H_

#include <string>
#include <vector>

#include "graph/graph.h"
#include "lms/options.h"

namespace spillway::testing {

inline Graph ChainE1() {
  Graph graph("E1");
  const TensorType type{.dtype = DType::kFloat32, .shape = {16, 16}};
  const auto add = [&](std::string name, std::vector<std::string> inputs) {
    NodeSpec spec{.name = name, .op = "Op", .outputs = {type}};
    for (const std::string& input : inputs) {
      spec.inputs.push_back(*graph.FindValue(input));
    }
    graph.AddNode(spec);
  };
  add("F1", {});
  add("F2", {"F1"});
  add("F3", {"F2"});
  add("F4", {"F3"});
  add("opt/B4", {"F4"});
  add("opt/B3", {"opt/B4", "F3"});
  add("opt/B2", {"opt/B3", "F2"});
  add("opt/B1", {"opt/B2", "F1"});
  add("opt/U", {"opt/B1"});
  return graph;
}

// The options of the published edit: the optimizer is under "opt".
inline LmsOptions E1Options() {
  return {.mode = LmsMode::kV1,
          .compat = true,
          .v1 = {.optimizer_scopes = {"opt"}}};
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_LMS_CHAIN_E1_H_
