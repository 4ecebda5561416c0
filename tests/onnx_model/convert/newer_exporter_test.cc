// What newer exporters of PyTorch write: sequences of parts, places of
// elements, biases of zeros, one initializer in place of equal ones.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx_model/import.h"
#include "tests/onnx_model/is_refused.h"
#include "tests/onnx_model/make_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using spillway::testing::Import;
using spillway::testing::Imported;
using spillway::testing::InputText;
using spillway::testing::IntegersText;
using spillway::testing::IsRefused;
using spillway::testing::MakeModel;
using spillway::testing::OutputText;
using spillway::testing::RunFirstOutput;
using spillway::testing::WeightText;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Of 8 columns, 3, 3 and 2; or one by one, without their dimension.
TEST(NewerExporterTest, AnElementOfASequenceIsASlice) {
  const std::string graph = InputText("x", "[2, 8]") + OutputText("y") + R"(
    node { op_type: "Constant" output: "three"
      attribute { name: "value_int" type: INT i: 3 } })" +
                            IntegersText("minus_one", {-1}) +
                            IntegersText("one", {1}) + R"(
    node { op_type: "SplitToSequence" input: "x" input: "three" output: "parts"
      attribute { name: "axis" type: INT i: 1 } }
    node { op_type: "SequenceAt" input: "parts" input: "minus_one"
      output: "last" }
    node { op_type: "SplitToSequence" input: "last" output: "rows"
      attribute { name: "keepdims" type: INT i: 0 } }
    node { op_type: "SequenceAt" input: "rows" input: "one" output: "y" })";
  ASSERT_OK_AND_ASSIGN(const Imported model, Import(MakeModel(graph)));
  EXPECT_EQ(model.network.outputs[0].tensor.shape(), Shape({2}));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> y, RunFirstOutput(model));
  EXPECT_THAT(y, ElementsAre(14.0F / 16, 15.0F / 16));
}

TEST(NewerExporterTest, ASequenceIsNoTensor) {
  const std::string split = InputText("x", "[2, 8]") + OutputText("y") + R"(
    node { op_type: "SplitToSequence" input: "x" output: "parts" })";
  EXPECT_THAT(
      Import(MakeModel(split + R"(
        node { name: "r" op_type: "Relu" input: "parts" output: "y" })")),
      IsRefused("cannot import Relu (1, first r: parts is a sequence)"));
  EXPECT_THAT(Import(MakeModel(split + IntegersText("two", {2}) + R"(
        node { op_type: "SequenceAt" input: "parts" input: "two"
          output: "y" })")),
              IsRefused("has no place among 2 elements"));
  EXPECT_THAT(Import(MakeModel(split + IntegersText("two", {2}) + R"(
        node { op_type: "SequenceAt" input: "x" input: "two" output: "y" })")),
              IsRefused("its input is no sequence"));
}

// Elements (1, 0) and (0, -1) of each picture's rows and columns.
TEST(NewerExporterTest, GathersAtPlaces) {
  const std::string graph = InputText("x", "[2, 4, 2]") + OutputText("y") + R"(
    initializer { name: "places" data_type: 7 dims: 2 dims: 2
      int64_data: 1 int64_data: 0 int64_data: 0 int64_data: -1 }
    node { op_type: "GatherND" input: "x" input: "places" output: "y" })";
  ASSERT_OK_AND_ASSIGN(const Imported model, Import(MakeModel(graph)));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> y, RunFirstOutput(model));
  EXPECT_THAT(y, ElementsAre(8.0F / 16, 9.0F / 16, 6.0F / 16, 7.0F / 16));
}

// What PyTorch's newer exporter writes for a convolution without bias.
TEST(NewerExporterTest, ABiasOfComputedZerosIsNone) {
  const std::string graph = InputText("x", "[1, 2, 4, 4]") + OutputText("y") +
                            WeightText("w", {3, 2, 1, 1}) +
                            IntegersText("three", {3}) + R"(
    node { op_type: "Constant" output: "zero"
      attribute { name: "value_int" type: INT i: 0 } }
    node { op_type: "CastLike" input: "zero" input: "x" output: "real" }
    node { op_type: "Expand" input: "real" input: "three" output: "bias" }
    node { op_type: "Conv" input: "x" input: "w" input: "bias" output: "y" })";
  ASSERT_OK_AND_ASSIGN(const Imported model, Import(MakeModel(graph)));
  EXPECT_EQ(model.Count("BiasAdd"), 0);
  EXPECT_THAT(model.network.variables, SizeIs(1));
}

// New networks have scales of 1 and offsets of 0, as their moving averages.
TEST(NewerExporterTest, MergedInitializersAreNamed) {
  const auto graph = [](const char* mean) {
    return InputText("x", "[N, 2, 4, 4]") + OutputText("y") +
           WeightText("variance", {2}) + R"(
    initializer { name: "one" data_type: 1 dims: 2 float_data: 1 float_data: 1 }
    initializer { name: "zero" data_type: 1 dims: 2 float_data: 0
      float_data: 0 }
    initializer { name: "mean" data_type: 1 dims: 2 float_data: 0
      float_data: 0 }
    initializer { name: "mean2" data_type: 1 dims: 2 float_data: 0
      float_data: 0 }
    initializer { name: "variance2" data_type: 1 dims: 2 float_data: 1
      float_data: 1 }
    node { op_type: "BatchNormalization" input: "x" input: "one" input: "zero"
      input: ")" +
           mean + R"(" input: "variance" output: "b" }
    node { op_type: "Relu" input: "b" output: "r" }
    node { op_type: "BatchNormalization" input: "r" input: "one" input: "zero"
      input: "mean2" input: "variance2" output: "c" }
    node { op_type: "Flatten" input: "c" output: "y" })";
  };
  const OnnxImportOptions training = {.training = OnnxTrainingOptions()};
  ASSERT_OK_AND_ASSIGN(const Imported merged,
                       Import(MakeModel(graph("mean")), training));
  ASSERT_THAT(merged.network.notes, SizeIs(1));
  EXPECT_THAT(merged.network.notes[0],
              ::testing::HasSubstr("2 weights, first one, of one number"));
  EXPECT_THAT(Import(MakeModel(graph("zero")), training),
              IsRefused("zero is a weight and a moving average at once"));
  ASSERT_OK_AND_ASSIGN(const Imported inference,
                       Import(MakeModel(graph("zero"))));
  EXPECT_THAT(inference.network.notes, SizeIs(0));
}

TEST(NewerExporterTest, ANodesConstantMayBeTheWeightOfSeveral) {
  const std::string graph = InputText("x", "[N, 2, 4, 4]") + OutputText("y") +
                            WeightText("w", {2, 2, 1, 1}) +
                            IntegersText("two", {2}) + R"(
    node { op_type: "ConstantOfShape" input: "two" output: "zeros" }
    node { op_type: "Conv" input: "x" input: "w" input: "zeros" output: "a" }
    node { op_type: "Conv" input: "a" input: "w" input: "zeros" output: "b" }
    node { op_type: "Flatten" input: "b" output: "y" })";
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(MakeModel(graph), {.training = OnnxTrainingOptions()}));
  EXPECT_THAT(model.network.notes, SizeIs(0));
  EXPECT_THAT(model.network.variables, SizeIs(2));
  EXPECT_EQ(model.Count("BiasAdd"), 2);
}

}  // namespace
}  // namespace spillway
