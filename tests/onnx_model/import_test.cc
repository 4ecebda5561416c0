#include "onnx_model/import.h"

#include <algorithm>
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
using spillway::testing::IntegersText;
using spillway::testing::IsRefused;
using spillway::testing::MakeModel;
using spillway::testing::MakeWholeModel;
using spillway::testing::OutputText;
using spillway::testing::RunFirstOutput;
using spillway::testing::WeightText;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;
using ::testing::SizeIs;

// Two convolutions, a sum, a pool: all channels-last inside.
std::string SmallNetwork() {
  return InputText("x", "[N, 2, 4, 4]") + OutputText("logits") +
         WeightText("w1", {4, 2, 3, 3}) + WeightText("b1", {4}) +
         WeightText("w2", {4, 4, 1, 1}) + WeightText("fc.weight", {5, 16}) +
         WeightText("fc.bias", {5}) + R"(
    node { name: "/conv1/Conv" op_type: "Conv" input: "x" input: "w1"
      input: "b1" output: "c1" attribute { name: "pads" type: INTS
      ints: 1 ints: 1 ints: 1 ints: 1 } }
    node { name: "/Relu" op_type: "Relu" input: "c1" output: "r1" }
    node { name: "/conv2/Conv" op_type: "Conv" input: "r1" input: "w2"
      output: "c2" }
    node { name: "/Add" op_type: "Add" input: "r1" input: "c2" output: "s" }
    node { name: "/pool" op_type: "MaxPool" input: "s" output: "p"
      attribute { name: "kernel_shape" type: INTS ints: 2 ints: 2 }
      attribute { name: "strides" type: INTS ints: 2 ints: 2 } }
    node { name: "/Flatten" op_type: "Flatten" input: "p" output: "f" }
    node { name: "/fc/Gemm" op_type: "Gemm" input: "f" input: "fc.weight"
      input: "fc.bias" output: "logits"
      attribute { name: "transB" type: INT i: 1 } })";
}

TEST(ImportTest, ANetworkOfConvolutionsHasOneTransposeForItsFeed) {
  ASSERT_OK_AND_ASSIGN(const Imported model,
                       Import(MakeModel(SmallNetwork()), {.batch_size = 3}));
  EXPECT_EQ(model.Count("Transpose"), 1);
  EXPECT_EQ(model.network.batch_size, 3);
  ASSERT_THAT(model.network.inputs, SizeIs(1));
  EXPECT_EQ(model.network.inputs[0].tensor.shape(), Shape({3, 2, 4, 4}));
  EXPECT_EQ(model.network.outputs[0].tensor.shape(), Shape({3, 5}));
  EXPECT_TRUE(model.graph.FindNode("conv1/Conv").has_value());
  EXPECT_TRUE(model.graph.FindNode("fc.weight").has_value());
}

// The rows of a dense weight follow the pixels, so these need not be moved.
TEST(ImportTest, TheWeightBehindAFlattenIsPermutedInsteadOfItsInput) {
  ASSERT_OK_AND_ASSIGN(const Imported model, Import(MakeModel(SmallNetwork())));
  const auto& variables = model.network.variables;
  const auto found =
      std::ranges::find(variables, "fc.weight", &OnnxVariable::initializer);
  ASSERT_NE(found, variables.end());
  EXPECT_EQ(found->dims, Shape({5, 16}));
  EXPECT_EQ(found->parts, Shape({5, 4, 2, 2}));
  EXPECT_THAT(found->perm, ElementsAre(0, 2, 3, 1));
  // Element (0, c h w) of the file is i = 4 c + 2 h + w, with the value i / 8.
  const HostTensor& tensor = model.initial.at("fc.weight");
  const float* data = tensor.data<float>();
  EXPECT_EQ(std::vector<float>(data, data + 6),
            (std::vector<float>{0, 0.5, 1, 1.5, 0.125, 0.625}));
}

// By hand: a 1 x 1 convolution that adds channels, flattened, times a matrix.
TEST(ImportTest, ComputesWhatTheModelSays) {
  const std::string graph = InputText("x", "[1, 2, 1, 2]") + OutputText("y") +
                            WeightText("w", {2, 2, 1, 1}) +
                            WeightText("m", {4, 2}) + R"(
    node { op_type: "Conv" input: "x" input: "w" output: "c" }
    node { op_type: "Flatten" input: "c" output: "f" }
    node { op_type: "MatMul" input: "f" input: "m" output: "y" })";
  ASSERT_OK_AND_ASSIGN(const Imported model, Import(MakeModel(graph)));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> y, RunFirstOutput(model));
  // x: channels (0, 1) and (2, 3) / 16; w = ((0, 1), (2, 3)) / 8.
  const double c[4] = {2.0 / 128, 3.0 / 128, 6.0 / 128, 11.0 / 128};
  double expected[2] = {0, 0};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 2; ++j) expected[j] += c[i] * (2 * i + j) / 8;
  }
  ASSERT_THAT(y, SizeIs(2));
  EXPECT_NEAR(y[0], expected[0], 1e-6);
  EXPECT_NEAR(y[1], expected[1], 1e-6);
}

// The remainders of 0, 10, 20, ... by 7, and of their negatives.
TEST(ImportTest, ComputesWithIntegers) {
  const std::string graph = InputText("x", "[1, 8]") + OutputText("y") +
                            IntegersText("scale", {160}) +
                            IntegersText("seven", {7}) + R"(
    node { op_type: "Cast" input: "scale" output: "real_scale"
      attribute { name: "to" type: INT i: 1 } }
    node { op_type: "Mul" input: "x" input: "real_scale" output: "tens" }
    node { op_type: "Neg" input: "tens" output: "negative" }
    node { op_type: "Concat" input: "tens" input: "negative" output: "both"
      attribute { name: "axis" type: INT i: 1 } }
    node { op_type: "Cast" input: "both" output: "n"
      attribute { name: "to" type: INT i: 7 } }
    node { op_type: "Div" input: "n" input: "seven" output: "quotient" }
    node { op_type: "Mul" input: "seven" input: "quotient" output: "product" }
    node { op_type: "Sub" input: "n" input: "product" output: "rest" }
    node { op_type: "Add" input: "rest" input: "rest" output: "twice" }
    node { op_type: "Cast" input: "twice" output: "y"
      attribute { name: "to" type: INT i: 1 } })";
  ASSERT_OK_AND_ASSIGN(const Imported model, Import(MakeModel(graph)));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> y, RunFirstOutput(model));
  EXPECT_THAT(y, ElementsAre(0, 6, 12, 4, 10, 2, 8, 0,  //
                             0, -6, -12, -4, -10, -2, -8, 0));
}

TEST(ImportTest, AnotherBatchThanThatOfTheFileIsNamed) {
  const std::string graph = InputText("x", "[2, 6]") + OutputText("y") +
                            IntegersText("shape", {4, 3}) + R"(
    node { op_type: "Reshape" input: "x" input: "shape" output: "y" })";
  EXPECT_THAT(Import(MakeModel(graph), {.batch_size = 3}),
              IsRefused("the file is made for a batch of 2, not 3"));
}

// What exporters compute from shapes leaves no node.
TEST(ImportTest, ShapeArithmeticIsFolded) {
  const std::string graph = InputText("x", "[N, 6, 2]") + OutputText("y") +
                            IntegersText("zero", {0}) +
                            IntegersText("minus_one", {-1}) + R"(
    node { op_type: "Shape" input: "x" output: "s" }
    node { op_type: "Gather" input: "s" input: "zero" output: "n" }
    node { op_type: "Concat" input: "n" input: "minus_one" output: "target"
      attribute { name: "axis" type: INT i: 0 } }
    node { op_type: "Reshape" input: "x" input: "target" output: "y" })";
  ASSERT_OK_AND_ASSIGN(const Imported model,
                       Import(MakeModel(graph), {.batch_size = 5}));
  EXPECT_EQ(model.network.outputs[0].tensor.shape(), Shape({5, 12}));
  EXPECT_EQ(model.network.facts.folded_nodes, 3);
  EXPECT_EQ(model.graph.num_nodes(), 2u);
}

TEST(ImportTest, AFileWithAFixedBatchIsRebatched) {
  const std::string graph = InputText("x", "[1, 3, 2, 2]") + OutputText("y") +
                            IntegersText("target", {1, 12}) + R"(
    node { op_type: "Reshape" input: "x" input: "target" output: "y" })";
  ASSERT_OK_AND_ASSIGN(const Imported model,
                       Import(MakeModel(graph), {.batch_size = 4}));
  EXPECT_EQ(model.network.outputs[0].tensor.shape(), Shape({4, 12}));
}

TEST(ImportTest, OneInitializerIsOneVariable) {
  const std::string graph = InputText("x", "[2, 3, 3, 3]") + OutputText("y") +
                            WeightText("w", {3, 3, 1, 1}) + R"(
    node { op_type: "Identity" input: "w" output: "same" }
    node { op_type: "Conv" input: "x" input: "w" output: "a" }
    node { op_type: "Conv" input: "a" input: "same" output: "y" })";
  ASSERT_OK_AND_ASSIGN(const Imported model, Import(MakeModel(graph)));
  EXPECT_EQ(model.Count("Variable"), 1);
}

std::string BatchNormText(const std::string& training_mode) {
  return InputText("x", "[2, 3, 2, 2]") + OutputText("y") +
         WeightText("scale", {3}) + WeightText("offset", {3}) +
         WeightText("mean", {3}) + WeightText("var", {3}) + R"(
    node { name: "bn" op_type: "BatchNormalization" input: "x" input: "scale"
      input: "offset" input: "mean" input: "var" output: "y" )" +
         training_mode + "}";
}

bool IsTraining(const Imported& model) {
  const Node& node = model.graph.node(*model.graph.FindNode("bn"));
  return *node.attributes.GetBool("is_training");
}

TEST(ImportTest, BatchNormFollowsTheOption) {
  const std::string eval = MakeModel(BatchNormText(""));
  const std::string train = MakeModel(
      BatchNormText("attribute { name: \"training_mode\" type: INT i: 1 } "
                    "output: \"unused_mean\" output: \"unused_var\""));
  for (const auto& [mode, of_eval, of_train] :
       {std::tuple(OnnxBatchNorm::kModel, false, true),
        std::tuple(OnnxBatchNorm::kTrain, true, true),
        std::tuple(OnnxBatchNorm::kFrozen, false, false)}) {
    ASSERT_OK_AND_ASSIGN(const Imported a, Import(eval, {.batch_norm = mode}));
    ASSERT_OK_AND_ASSIGN(const Imported b, Import(train, {.batch_norm = mode}));
    EXPECT_EQ(IsTraining(a), of_eval);
    EXPECT_EQ(IsTraining(b), of_train);
  }
}

TEST(ImportTest, FrozenVariablesAreNotTrainable) {
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(MakeModel(SmallNetwork()), {.freeze = {"^w", "^b1$"}}));
  std::vector<std::string> trained;
  for (const OnnxVariable& variable : model.network.variables) {
    if (variable.is_trainable) trained.push_back(variable.initializer);
  }
  EXPECT_THAT(trained, ElementsAre("fc.weight", "fc.bias"));
  ASSERT_OK_AND_ASSIGN(const Imported other, Import(MakeModel(SmallNetwork()),
                                                    {.train_only = {"fc"}}));
  EXPECT_EQ(other.graph.num_nodes(), model.graph.num_nodes());
}

TEST(ImportTest, AFreezeThatFindsNothingOrLeavesNothingIsRefused) {
  const std::string model = MakeModel(SmallNetwork());
  EXPECT_THAT(Import(model, {.freeze = {"conv9"}}),
              IsRefused("'conv9' finds no initializer"));
  EXPECT_THAT(Import(model, {.freeze = {"."}}), IsRefused("nothing is left"));
  EXPECT_THAT(Import(model, {.freeze = {"("}}),
              IsRefused("'(' is not a regular expression"));
}

TEST(ImportTest, NamesAllThatIsNotSupportedAtOnce) {
  const std::string graph = InputText("x", "[2, 3]") + OutputText("y") + R"(
    node { name: "first" op_type: "Det" input: "x" output: "a" }
    node { name: "second" op_type: "Det" input: "a" output: "b" }
    node { name: "own" op_type: "Thing" domain: "com.me" input: "b"
      output: "c" }
    node { name: "mode" op_type: "Pad" input: "x" output: "d"
      attribute { name: "mode" type: STRING s: "mirror" } }
    node { op_type: "Relu" input: "c" output: "y" })";
  EXPECT_THAT(
      Import(MakeModel(graph)),
      IsRefused("model.onnx: cannot import Det (2, first first), com.me.Thing "
                "(1, first own), Pad (1, first mode: mode 'mirror'); import "
                "--plan_only can plan it"));
}

TEST(ImportTest, AnOutputThatWeDoNotComputeIsNamedIfItIsRead) {
  const std::string pool = R"(
    node { name: "pool" op_type: "MaxPool" input: "x" output: "y"
      output: "indices" attribute { name: "kernel_shape" type: INTS ints: 2
      ints: 2 } })";
  const std::string input = InputText("x", "[2, 3, 4, 4]");
  EXPECT_TRUE(Import(MakeModel(input + OutputText("y") + pool)).ok());
  EXPECT_THAT(
      Import(MakeModel(input + OutputText("y") + OutputText("z") + pool +
                       R"(node { op_type: "Cast" input: "indices"
                                  output: "z" attribute { name: "to" type: INT
                                  i: 1 } })")),
      IsRefused("MaxPool (1, first pool: its output indices is read)"));
}

// y = x + w or its absolute value, by whether x has 3 columns.
std::string Branches(int columns) {
  return InputText("x", "[2, 3]") + OutputText("y") +
         IntegersText("wanted", {columns}) + IntegersText("last", {1}) + R"(
    node { op_type: "Shape" input: "x" output: "shape" }
    node { op_type: "Gather" input: "shape" input: "last" output: "columns" }
    node { op_type: "Equal" input: "columns" input: "wanted" output: "is" }
    node { name: "if" op_type: "If" input: "is" output: "y"
      attribute { name: "then_branch" type: GRAPH g {
        )" +
         WeightText("w", {3}) +
         R"( node { name: "sum" op_type: "Add" input: "v" input: "w"
               output: "then" }
             node { op_type: "Identity" input: "x" output: "v" }
        output { name: "then" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { name: "other" op_type: "Abs" input: "x" output: "else" }
        output { name: "else" } } } })";
}

TEST(ImportTest, TheBranchOfAKnownConditionTakesItsPlace) {
  ASSERT_OK_AND_ASSIGN(const Imported then, Import(MakeModel(Branches(3))));
  EXPECT_EQ(then.Count("Add"), 1);
  EXPECT_EQ(then.Count("Abs"), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> y, RunFirstOutput(then));
  EXPECT_THAT(
      y, ElementsAre(0, 3.0F / 16, 6.0F / 16, 3.0F / 16, 6.0F / 16, 9.0F / 16));
  ASSERT_OK_AND_ASSIGN(const Imported other, Import(MakeModel(Branches(4))));
  EXPECT_EQ(other.Count("Add"), 0);
  EXPECT_EQ(other.Count("Abs"), 1);
}

TEST(ImportTest, ABranchOfAConditionThatIsComputedIsRefused) {
  const std::string graph = InputText("x", "[1]") +
                            InputText("condition", "[1]", 9) + OutputText("y") +
                            R"(
    node { name: "if" op_type: "If" input: "condition" output: "y"
      attribute { name: "then_branch" type: GRAPH g {
        node { op_type: "Neg" input: "x" output: "a" } output { name: "a" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { op_type: "Abs" input: "x" output: "b" } output { name: "b" } } }
    })";
  EXPECT_THAT(
      Import(MakeModel(graph)),
      IsRefused("If (1, first if: of a condition that is not constant"));
}

// Names are unique over a graph and its subgraphs; a file that has one twice is
// not read as if the inner value were the outer one.
TEST(ImportTest, ABranchWithAValueOfTheGraphAroundItIsRefused) {
  const std::string graph =
      InputText("x", "[1]") + OutputText("y") + OutputText("z") + R"(
    initializer { name: "condition" data_type: 9 int32_data: 1 }
    node { op_type: "Neg" input: "x" output: "z" }
    node { name: "if" op_type: "If" input: "condition" output: "y"
      attribute { name: "then_branch" type: GRAPH g {
        node { op_type: "Abs" input: "x" output: "z" } output { name: "z" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { op_type: "Abs" input: "x" output: "b" } output { name: "b" } } }
    })";
  EXPECT_THAT(Import(MakeModel(graph)),
              IsRefused("If (1, first if: a second value z)"));
}

TEST(ImportTest, AnIfWithoutTheBranchIsNamed) {
  const std::string graph =
      InputText("x", "[1]") + OutputText("y") +
      R"(initializer { name: "condition" data_type: 9 int32_data: 1 }
         node { name: "if" op_type: "If" input: "condition" output: "y" })";
  EXPECT_THAT(Import(MakeModel(graph)),
              IsRefused("If if: has no then_branch with 1 outputs"));
}

// Over a window of even size one channel more lies behind than before.
TEST(ImportTest, ALocalResponseNormalizationOfEvenSize) {
  const std::string graph = InputText("x", "[1, 5, 1, 1]") + OutputText("y") +
                            R"(node { op_type: "LRN" input: "x" output: "y"
      attribute { name: "size" type: INT i: 4 }
      attribute { name: "alpha" type: FLOAT f: 2 }
      attribute { name: "beta" type: FLOAT f: 0.5 } })";
  ASSERT_OK_AND_ASSIGN(const Imported model, Import(MakeModel(graph)));
  std::vector<float> expected;
  for (int c = 0; c < 5; ++c) {
    double sum = 0;
    for (int i = std::max(c - 1, 0); i <= std::min(c + 2, 4); ++i) {
      sum += i / 16.0 * i / 16.0;
    }
    expected.push_back(
        static_cast<float>(c / 16.0 / std::sqrt(1 + 2.0 / 4 * sum)));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<float> y, RunFirstOutput(model));
  EXPECT_THAT(y, Pointwise(FloatNear(1e-6F), expected));
}

TEST(ImportTest, DimensionsWithoutAValueAreNamedTogether) {
  const std::string graph =
      InputText("x", "[N, C, height, 4]") + OutputText("y") +
      R"(node { op_type: "Relu" input: "x" output: "y" })";
  EXPECT_THAT(Import(MakeModel(graph)),
              IsRefused("dimensions without a value: C of x, height of x"));
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(MakeModel(graph), {.dims = {{"C", 3}, {"height", 5}}}));
  EXPECT_EQ(model.network.outputs[0].tensor.shape(), Shape({32, 3, 5, 4}));
  EXPECT_THAT(Import(MakeModel(graph),
                     {.dims = {{"C", 3}, {"height", 5}, {"width", 1}}}),
              IsRefused("no dimension of an input is called width"));
}

TEST(ImportTest, BadFilesAreNamed) {
  EXPECT_THAT(Import("\x01\x02 no protobuf"), IsRefused("14 bytes that are not "
                                                        "an ONNX model"));
  EXPECT_THAT(Import(""), IsRefused("0 bytes that are not an ONNX model"));
  const std::string whole = MakeModel(SmallNetwork());
  EXPECT_FALSE(Import(whole.substr(0, whole.size() / 2)).ok());
  EXPECT_THAT(Import(MakeModel(SmallNetwork(), 25)), IsRefused("opset 25"));
  EXPECT_THAT(Import(MakeModel(SmallNetwork(), 5)), IsRefused("opset 5"));
  EXPECT_THAT(Import(MakeWholeModel("graph { }")),
              IsRefused("states no opset"));
}

TEST(ImportTest, AnInitializerWithTooFewBytesIsNamed) {
  const std::string graph = InputText("x", "[2, 3]") + OutputText("y") + R"(
    initializer { name: "w" data_type: 1 dims: 1000000 dims: 1000000
      raw_data: "1234" }
    node { op_type: "Identity" input: "x" output: "y" }
    node { op_type: "Identity" input: "w" output: "z" } output { name: "z" })";
  EXPECT_THAT(Import(MakeModel(graph)),
              IsRefused("initializer w: has 4 bytes where FLOAT [1000000, "
                        "1000000] needs"));
}

TEST(ImportTest, NodesThatDoNotFitAreNamed) {
  const std::string input = InputText("x", "[2, 3, 4, 4]") + OutputText("y") +
                            WeightText("w", {4, 2, 3, 3});
  EXPECT_THAT(
      Import(MakeModel(input + R"(node { name: "/c" op_type: "Conv" input: "x"
                                  input: "w" output: "y" })")),
      IsRefused("Conv /c"));
  EXPECT_THAT(Import(MakeModel(input + R"(node { name: "r" op_type: "Relu"
                                  output: "y" })")),
              IsRefused("Relu r: has no input 0"));
}

}  // namespace
}  // namespace spillway
