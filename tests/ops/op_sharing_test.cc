// Which bytes ops share and overwrite, stated a second time. The planner and
// VerifyPlan both use the OpDef, so neither notices a wrong one; because of
// this table every change must be made twice. op_suite_test.cc checks that the
// real kernels follow the declarations: inputs that are only read do not
// change, and results in place are bitwise identical.
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/all_ops.h"

namespace spillway {
namespace {

// Pairs as "input>output". For groups: those of the first.
struct Sharing {
  std::string alias = {};
  std::string in_place = {};
  bool together = false;  // in_place_together
  std::string mutates = {};
  bool resident = false;
};

std::map<std::string, Sharing> MakeTable() {
  std::map<std::string, Sharing> table = {
      // Optimizers: the variable, then its slots, are overwritten.
      {"AccumulateGradient", {.alias = "0>0", .mutates = "0"}},
      {"ApplyAdagrad", {.alias = "0>0", .mutates = "0 1"}},
      {"ApplyAdam", {.alias = "0>0", .mutates = "0 1 2 3"}},
      {"ApplyGradientDescent", {.alias = "0>0", .mutates = "0"}},
      {"ApplyLars", {.alias = "0>0", .mutates = "0 1"}},
      {"ApplyMomentum", {.alias = "0>0", .mutates = "0 1"}},
      {"ApplyRMSProp", {.alias = "0>0", .mutates = "0 1 2"}},
      {"ApplyVelocity", {.alias = "0>0", .mutates = "0 1"}},
      {"AllReduceInTurn", {.alias = "0>0", .mutates = "0"}},
      {"AssignAdd", {.alias = "0>0", .mutates = "0"}},
      // Views.
      {"Identity", {.alias = "0>0"}},
      {"Reshape", {.alias = "0>0"}},
      // Element by element.
      {"Add", {.in_place = "0>0 1>0"}},
      {"AddN", {.in_place = "0>0 1>0 2>0 3>0"}},
      {"ConcatInto", {.in_place = "0>0"}},
      {"AllReduce", {.in_place = "0>0", .together = true}},
      {"BatchNormApply", {.in_place = "0>0 5>0"}},
      {"BiasAdd", {.in_place = "0>0"}},
      {"ClipByValue", {.in_place = "0>0"}},
      {"Conv2DBackpropInput", {.in_place = "2>0"}},
      {"Conv3DBackpropInput", {.in_place = "2>0"}},
      {"Dropout", {.in_place = "0>0"}},
      {"DropoutGrad", {.in_place = "0>0"}},
      {"ErrorFeedbackAllReduce",
       {.in_place = "0>0", .together = true, .mutates = "1"}},
      {"Elu", {.in_place = "0>0"}},
      {"EluGrad", {.in_place = "0>0 1>0"}},
      {"GreaterShare", {.in_place = "0>0 1>0"}},
      {"Maximum", {.in_place = "0>0 1>0"}},
      {"Minimum", {.in_place = "0>0 1>0"}},
      {"Mul", {.in_place = "0>0 1>0"}},
      {"Pow", {.in_place = "0>0 1>0"}},
      {"RealDiv", {.in_place = "0>0 1>0"}},
      {"Relu", {.in_place = "0>0"}},
      {"Relu6", {.in_place = "0>0"}},
      {"Relu6Grad", {.in_place = "0>0 1>0"}},
      {"ReluGrad", {.in_place = "0>0 1>0"}},
      {"ScaleRows", {.in_place = "0>0"}},
      {"Select", {.in_place = "1>0 2>0"}},
      {"Sigmoid", {.in_place = "0>0"}},
      {"SigmoidGrad", {.in_place = "0>0 1>0"}},
      {"Sub", {.in_place = "0>0 1>0"}},
      {"TruncateDiv", {.in_place = "0>0 1>0"}},
      {"Tanh", {.in_place = "0>0"}},
      {"TanhGrad", {.in_place = "0>0 1>0"}},
      // Row by row, or after a pass over all elements.
      {"FusedBatchNorm", {.in_place = "0>0 5>0", .mutates = "3 4"}},
      {"FusedBatchNormGrad", {.in_place = "0>0 1>0 0>3", .together = true}},
      {"GroupNorm", {.in_place = "0>0"}},
      {"GroupNormGrad", {.in_place = "0>0 1>0"}},
      {"LRN", {.in_place = "0>0"}},
      {"LRNGrad", {.in_place = "0>0 1>0"}},
      {"LayerNorm", {.in_place = "0>0"}},
      {"LayerNormGrad", {.in_place = "0>0 1>0"}},
      {"MaxPool3DGrad", {.in_place = "0>0"}},
      {"MaxPoolGrad", {.in_place = "0>0"}},
      {"Softmax", {.in_place = "0>0"}},
      {"SoftmaxGrad", {.in_place = "0>0 1>0"}},
      {"SparseSoftmaxCrossEntropyWithLogits", {.in_place = "0>1"}},
      // These outlive the step.
      {"Const", {.resident = true}},
      {"Variable", {.resident = true}}};
  for (const std::string op : {"Abs",       "Ceil",
                               "Celu",      "Clip",
                               "Cos",       "Erf",
                               "Exp",       "Floor",
                               "Gelu",      "HardSigmoid",
                               "HardSwish", "LeakyRelu",
                               "Log",       "Mish",
                               "Power",     "Reciprocal",
                               "Round",     "Selu",
                               "Shrink",    "Sign",
                               "Silu",      "Sin",
                               "Softplus",  "Softsign",
                               "Sqrt",      "ThresholdedRelu"}) {
    table[op] = {.in_place = "0>0"};
    const bool has_gradient =
        op != "Ceil" && op != "Floor" && op != "Round" && op != "Sign";
    if (has_gradient) table[op + "Grad"] = {.in_place = "0>0 1>0"};
  }
  return table;
}

const std::map<std::string, Sharing>& Table() {
  static const auto& table = *new std::map<std::string, Sharing>(MakeTable());
  return table;
}

std::string PairsText(const std::vector<BufferPair>& pairs) {
  std::vector<std::string> texts;
  for (const BufferPair& pair : pairs) {
    texts.push_back(fmt::format("{}>{}", pair.input, pair.output));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

Sharing Declared(const OpDef& def) {
  return {.alias = PairsText(def.alias),
          .in_place = PairsText(def.in_place),
          .together = def.in_place_together,
          .mutates = fmt::format("{}", fmt::join(def.mutates, " ")),
          .resident = def.resident};
}

TEST(OpSharingTest, EveryOpDeclaresWhatTheTableSays) {
  EXPECT_TRUE(StandardOps().status().ok()) << StandardOps().status();
  EXPECT_TRUE(StandardKernels().status().ok()) << StandardKernels().status();
  for (const auto& [name, def] : StandardOps().ops()) {
    const auto found = Table().find(name);
    const Sharing expected = found == Table().end() ? Sharing() : found->second;
    const Sharing declared = Declared(def);
    EXPECT_EQ(declared.alias, expected.alias) << name;
    EXPECT_EQ(declared.in_place, expected.in_place) << name;
    EXPECT_EQ(declared.together, expected.together) << name;
    EXPECT_EQ(declared.mutates, expected.mutates) << name;
    EXPECT_EQ(declared.resident, expected.resident) << name;
  }
  for (const auto& [name, sharing] : Table()) {
    EXPECT_NE(StandardOps().Find(name), nullptr) << name;
  }
}

// An output that aliases an input of a group belongs to the same group.
TEST(OpSharingTest, OnlyUpdatesAndAllReducesComeInGroups) {
  for (const auto& [name, def] : StandardOps().ops()) {
    EXPECT_EQ(def.group_inputs != 0,
              name.starts_with("Apply") || name == "AccumulateGradient" ||
                  name.find("AllReduce") != std::string::npos)
        << name;
  }
}

}  // namespace
}  // namespace spillway
