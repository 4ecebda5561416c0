#include "onnx_model/convert/fuse_decomposed.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx_model/is_refused.h"
#include "tests/onnx_model/make_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using spillway::testing::Import;
using spillway::testing::Imported;
using spillway::testing::InputText;
using spillway::testing::IsRefused;
using spillway::testing::MakeModel;
using spillway::testing::OutputText;
using spillway::testing::RunFirstOutput;
using spillway::testing::WeightText;
using ::testing::FloatNear;
using ::testing::Pointwise;

std::string Number(const std::string& name, double value) {
  return "initializer { name: \"" + name +
         "\" data_type: 1 float_data: " + std::to_string(value) + " }\n";
}

std::string Op(const std::string& op, const std::vector<std::string>& inputs,
               const std::string& output, const std::string& attributes = "") {
  std::string text = "node { op_type: \"" + op + "\" ";
  for (const std::string& input : inputs) text += "input: \"" + input + "\" ";
  return text + "output: \"" + output + "\" " + attributes + " }\n";
}

std::string Axes(int axis) {
  return "attribute { name: \"axes\" type: INTS ints: " + std::to_string(axis) +
         " }";
}

struct Chain {
  std::string name;
  std::string nodes;  // from x [3, 4, 6] to y
  std::string inner;  // a value within
  std::string op;     // of ours that it becomes
};

void PrintTo(const Chain& chain, std::ostream* out) { *out << chain.name; }

std::string LayerNorm(const std::string& square) {
  return Number("epsilon", 1e-5) + Number("two", 2) + WeightText("s", {6}) +
         WeightText("o", {6}) + Op("ReduceMean", {"x"}, "mean", Axes(-1)) +
         Op("Sub", {"x", "mean"}, "d") + square +
         Op("ReduceMean", {"d2"}, "variance", Axes(-1)) +
         Op("Add", {"variance", "epsilon"}, "sum") + Op("Sqrt", {"sum"}, "r") +
         Op("Div", {"d", "r"}, "n") + Op("Mul", {"n", "s"}, "m");
}

std::string Constants() {
  return Number("half", 0.5) + Number("one", 1) +
         Number("root", std::sqrt(2.0)) + Number("inverse", std::sqrt(0.5)) +
         Number("c", 0.044715) + Number("k", std::sqrt(2 / M_PI)) +
         Number("three", 3);
}

std::vector<Chain> Chains() {
  const std::string erf = Constants() + Op("Div", {"x", "root"}, "a") +
                          Op("Erf", {"a"}, "b") + Op("Add", {"b", "one"}, "e");
  const std::string cube = Constants() + Op("Pow", {"x", "three"}, "x3") +
                           Op("Mul", {"c", "x3"}, "u") +
                           Op("Add", {"x", "u"}, "v") +
                           Op("Mul", {"v", "k"}, "w");
  const std::string square =
      Constants() + Op("Mul", {"x", "c"}, "xc") + Op("Mul", {"xc", "x"}, "u") +
      Op("Add", {"one", "u"}, "v") + Op("Mul", {"x", "k"}, "xk") +
      Op("Mul", {"xk", "v"}, "w");
  const std::string tanh =
      Op("Tanh", {"w"}, "t") + Op("Add", {"one", "t"}, "e") +
      Op("Mul", {"x", "half"}, "h") + Op("Mul", {"h", "e"}, "y");
  return {
      {"LayerNormWithPow",
       LayerNorm(Op("Pow", {"d", "two"}, "d2")) + Op("Add", {"m", "o"}, "y"),
       "sum", "LayerNorm"},
      {"LayerNormWithMul",
       LayerNorm(Op("Mul", {"d", "d"}, "d2")) + Op("Add", {"o", "m"}, "y"), "d",
       "LayerNorm"},
      {"LayerNormWithoutOffset",
       LayerNorm(Op("Pow", {"d", "two"}, "d2")) + Op("Sin", {"m"}, "y"), "n",
       "LayerNorm"},
      {"GeluOfPyTorch",
       erf + Op("Mul", {"x", "e"}, "f") + Op("Mul", {"f", "half"}, "y"), "f",
       "Gelu"},
      {"GeluInAnotherOrder",
       Constants() + Op("Mul", {"x", "inverse"}, "a") + Op("Erf", {"a"}, "b") +
           Op("Add", {"one", "b"}, "e") + Op("Mul", {"half", "x"}, "f") +
           Op("Mul", {"e", "f"}, "y"),
       "b", "Gelu"},
      {"GeluOfCube", cube + tanh, "v", "Gelu"},
      {"GeluOfSquare", square + tanh, "w", "Gelu"},
      {"Swish", Op("Sigmoid", {"x"}, "a") + Op("Mul", {"a", "x"}, "y"), "a",
       "Silu"},
      {"Mish",
       Op("Softplus", {"x"}, "a") + Op("Tanh", {"a"}, "b") +
           Op("Mul", {"x", "b"}, "y"),
       "b", "Mish"},
      {"HardSwish",
       Op("HardSigmoid", {"x"}, "a",
          "attribute { name: \"alpha\" type: FLOAT f: 0.16666667 }") +
           Op("Mul", {"x", "a"}, "y"),
       "a", "HardSwish"},
      {"MatMulBias",
       WeightText("w", {6, 5}) + WeightText("b", {5}) +
           Op("MatMul", {"x", "w"}, "a") + Op("Add", {"b", "a"}, "y"),
       "a", "BiasAdd"},
      {"MatMulBiasOfTransposed",
       WeightText("w", {5, 6}) + WeightText("b", {5}) +
           Op("Transpose", {"w"}, "v") + Op("MatMul", {"x", "v"}, "a") +
           Op("Add", {"a", "b"}, "y"),
       "a", "BiasAdd"},
  };
}

std::string Model(const Chain& chain) {
  return InputText("x", "[3, 4, 6]") + OutputText("y") + chain.nodes;
}

class FuseDecomposedTest : public ::testing::TestWithParam<Chain> {};

TEST_P(FuseDecomposedTest, MakesOneNode) {
  ASSERT_OK_AND_ASSIGN(const Imported model,
                       Import(MakeModel(Model(GetParam()), 13)));
  EXPECT_EQ(model.Count(GetParam().op), 1);
  EXPECT_GT(model.network.facts.fused_nodes, 1);
}

// A value that is an output too is read by someone else.
TEST_P(FuseDecomposedTest, ComputesWhatTheChainDoes) {
  ASSERT_OK_AND_ASSIGN(const Imported fused,
                       Import(MakeModel(Model(GetParam()), 13)));
  ASSERT_OK_AND_ASSIGN(
      const Imported apart,
      Import(MakeModel(Model(GetParam()) + OutputText(GetParam().inner), 13)));
  EXPECT_EQ(apart.Count(GetParam().op), 0);
  EXPECT_EQ(apart.network.facts.fused_nodes, 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> y, RunFirstOutput(fused));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> expected,
                       RunFirstOutput(apart));
  EXPECT_THAT(y, Pointwise(FloatNear(2e-5F), expected));
}

INSTANTIATE_TEST_SUITE_P(Chains, FuseDecomposedTest,
                         ::testing::ValuesIn(Chains()),
                         [](const auto& tested) { return tested.param.name; });

// Nearly one of the chains: none is made one node.
TEST(FuseDecomposedNothingTest, WhatIsNearlyAChainStaysAsItIs) {
  const std::string sigmoid = Op("Sigmoid", {"x"}, "a");
  const std::string square = Op("Pow", {"d", "two"}, "d2");
  const std::string gelu =
      Op("Mul", {"x", "root"}, "a") + Op("Erf", {"a"}, "b") +
      Op("Add", {"b", "one"}, "e") + Op("Mul", {"x", "e"}, "f") +
      Op("Mul", {"f", "half"}, "y");
  std::string first_axis = LayerNorm(square) + Op("Add", {"m", "o"}, "y");
  for (size_t at = first_axis.find("ints: -1"); at != std::string::npos;
       at = first_axis.find("ints: -1")) {
    first_axis.replace(at, 8, "ints: -2");
  }
  const std::vector<std::string> chains = {
      sigmoid + Op("Mul", {"a", "a"}, "y"),
      Constants() + gelu,
      first_axis,
      Op("HardSigmoid", {"x"}, "a") + Op("Mul", {"x", "a"}, "y"),
      WeightText("w", {6, 5}) + WeightText("b", {4, 5}) +
          Op("MatMul", {"x", "w"}, "a") + Op("Add", {"b", "a"}, "y"),
  };
  for (const std::string& chain : chains) {
    ASSERT_OK_AND_ASSIGN(
        const Imported model,
        Import(MakeModel(InputText("x", "[3, 4, 6]") + OutputText("y") + chain,
                         13)));
    EXPECT_EQ(model.network.facts.fused_nodes, 0) << chain;
  }
}

TEST(FuseDecomposedNothingTest, NodesWithoutInputsAreNamed) {
  for (const std::string& chain :
       {Op("Sqrt", {}, "a") + Op("Div", {"x", "a"}, "y"),
        Op("Sigmoid", {}, "a") + Op("Mul", {"x", "a"}, "y"),
        Op("Tanh", {}, "a") + Op("Mul", {"x", "a"}, "y")}) {
    EXPECT_THAT(
        Import(MakeModel(InputText("x", "[3]") + OutputText("y") + chain)),
        IsRefused("has no input 0"));
  }
}

}  // namespace
}  // namespace spillway
