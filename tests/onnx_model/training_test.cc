// Models of ONNX files in training: losses, data, budgets, export.
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx_model/export.h"
#include "onnx_model/import.h"
#include "onnx_model/training_data.h"
#include "tests/onnx_model/is_refused.h"
#include "tests/onnx_model/make_model.h"
#include "tests/support/host_tensor.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using spillway::testing::FeedsOf;
using spillway::testing::Import;
using spillway::testing::Imported;
using spillway::testing::InputText;
using spillway::testing::IsOk;
using spillway::testing::IsRefused;
using spillway::testing::MakeHostTensor;
using spillway::testing::MakeModel;
using spillway::testing::NewSession;
using spillway::testing::OutputText;
using spillway::testing::WeightText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// y = x w, w [3, 2] = 0, 1/8, ..., 5/8; perhaps behind a Softmax.
std::string LinearModel(const std::string& last = "") {
  return MakeModel(InputText("x", "[2, 3]") + OutputText("y") +
                   WeightText("w", {3, 2}) +
                   "node { op_type: \"MatMul\" input: \"x\" input: \"w\" "
                   "output: \"" +
                   (last.empty() ? "y" : "logits") + "\" }" + last);
}

constexpr const char* kSoftmax =
    "node { name: \"s\" op_type: \"Softmax\" input: \"logits\" output: \"y\" }";

// A step of x = 1, 2, .., 6 with this target.
template <typename T>
absl::StatusOr<float> LossOf(const Imported& model,
                             const std::vector<T>& target) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      NewSession(
          Program{.graph = model.graph, .fetches = {model.network.loss}}));
  SPILLWAY_RETURN_IF_ERROR(session->WriteVariables(model.initial));
  const Tensor x = model.network.inputs[0].tensor;
  std::map<ValueId, HostTensor> feeds = {
      {x.id(), MakeHostTensor(x.type(), std::vector<float>{1, 2, 3, 4, 5, 6})}};
  if (model.network.target.is_valid()) {
    feeds[model.network.target.id()] =
        MakeHostTensor(model.network.target.type(), target);
  }
  SPILLWAY_ASSIGN_OR_RETURN(StepResult result, session->Step(FeedsOf(feeds)));
  return *result.fetched[model.network.loss.id()].template data<float>();
}

// y = ((2, 2.75), (4.25, 6.5)) by hand: w = ((0, 1), (2, 3), (4, 5)) / 8.
constexpr double kOutput[4] = {2, 22.0 / 8, 34.0 / 8, 49.0 / 8};

TEST(OnnxTrainingTest, TheLossIsTheMeanOverRows) {
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(LinearModel(), {.training = OnnxTrainingOptions()}));
  ASSERT_OK_AND_ASSIGN(const float loss,
                       LossOf(model, std::vector<int32_t>{0, 1}));
  const double first = std::log(1 + std::exp(kOutput[1] - kOutput[0]));
  const double second = std::log(1 + std::exp(kOutput[2] - kOutput[3]));
  EXPECT_NEAR(loss, (first + second) / 2, 1e-5);
}

TEST(OnnxTrainingTest, ACrossEntropyTakesWhatASoftmaxReads) {
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(LinearModel(kSoftmax), {.training = OnnxTrainingOptions()}));
  ASSERT_OK_AND_ASSIGN(
      const Imported plain,
      Import(LinearModel(), {.training = OnnxTrainingOptions()}));
  ASSERT_OK_AND_ASSIGN(const float loss,
                       LossOf(model, std::vector<int32_t>{0, 1}));
  ASSERT_OK_AND_ASSIGN(const float expected,
                       LossOf(plain, std::vector<int32_t>{0, 1}));
  EXPECT_EQ(loss, expected);
  EXPECT_THAT(model.network.notes, ElementsAre(HasSubstr("what s reads")));
}

TEST(OnnxTrainingTest, MeanSquaredErrorIsOverAllElements) {
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(LinearModel(), {.training = OnnxTrainingOptions{
                                 .loss = OnnxLoss::kMeanSquaredError}}));
  ASSERT_OK_AND_ASSIGN(const float loss,
                       LossOf(model, std::vector<float>{1, 2, 3, 4}));
  double expected = 0;
  for (int i = 0; i < 4; ++i) expected += std::pow(kOutput[i] - 1 - i, 2) / 4;
  EXPECT_NEAR(loss, expected, 1e-5);
}

TEST(OnnxTrainingTest, MeanAbsoluteErrorIsOverAllElements) {
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(LinearModel(), {.training = OnnxTrainingOptions{
                                 .loss = OnnxLoss::kMeanAbsoluteError}}));
  ASSERT_OK_AND_ASSIGN(const float loss,
                       LossOf(model, std::vector<float>{1, 2, 3, 9}));
  double expected = 0;
  for (int i = 0; i < 4; ++i) {
    expected += std::abs(kOutput[i] - (i == 3 ? 9 : 1 + i)) / 4;
  }
  EXPECT_NEAR(loss, expected, 1e-5);
}

// Also behind a Sigmoid, whose input it takes.
TEST(OnnxTrainingTest, SigmoidCrossEntropyIsOfEachElement) {
  const std::string sigmoid =
      R"(node { name: "s" op_type: "Sigmoid" input: "logits" output: "y" })";
  const OnnxTrainingOptions options = {.loss = OnnxLoss::kSigmoidCrossEntropy};
  const std::vector<float> targets = {0, 1, 0.25, 1};
  double expected = 0;
  for (size_t i = 0; i < 4; ++i) {
    const double s = 1 / (1 + std::exp(-kOutput[i]));
    expected -= (targets[i] * std::log(s) +
                 (1 - double{targets[i]}) * std::log(1 - s)) /
                4;
  }
  for (const std::string& last : {std::string(), sigmoid}) {
    ASSERT_OK_AND_ASSIGN(
        const Imported model,
        last.empty() ? Import(LinearModel(), {.training = options})
                     : Import(LinearModel(last), {.training = options}));
    ASSERT_OK_AND_ASSIGN(const float loss, LossOf(model, targets));
    EXPECT_NEAR(loss, expected, 1e-5);
    EXPECT_EQ(model.network.notes.size(), last.empty() ? 0u : 1u);
  }
}

TEST(OnnxTrainingTest, AnOutputThatIsANumberCanBeTheLoss) {
  const std::string mean =
      "node { op_type: \"ReduceMean\" input: \"logits\" output: \"y\" "
      "attribute { name: \"keepdims\" type: INT i: 0 } }";
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(LinearModel(mean),
             {.training = OnnxTrainingOptions{.loss = OnnxLoss::kOutput}}));
  ASSERT_OK_AND_ASSIGN(const float loss, LossOf(model, std::vector<float>()));
  EXPECT_NEAR(loss, (kOutput[0] + kOutput[1] + kOutput[2] + kOutput[3]) / 4,
              1e-5);
}

TEST(OnnxTrainingTest, AnOutputWithoutSuchALossIsRefused) {
  EXPECT_THAT(
      Import(LinearModel(),
             {.training = OnnxTrainingOptions{.loss = OnnxLoss::kOutput}}),
      IsRefused("the output is [2, 2]: it is no loss"));
  EXPECT_THAT(
      Import(LinearModel(), {.training = OnnxTrainingOptions{.output = "z"}}),
      IsRefused("has no output z"));
}

// [B, C, H, W] and labels [B, H, W]: classes are dimension 1.
TEST(OnnxTrainingTest, PixelsHaveLabelsOfTheirOwn) {
  const std::string model = MakeModel(
      InputText("x", "[2, 3, 4, 4]") + OutputText("y") +
      WeightText("w", {5, 3, 1, 1}) +
      R"(node { op_type: "Conv" input: "x" input: "w" output: "y" })");
  ASSERT_OK_AND_ASSIGN(const Imported imported,
                       Import(model, {.training = OnnxTrainingOptions()}));
  EXPECT_EQ(imported.network.target.shape(), Shape({2, 4, 4}));
  EXPECT_EQ(imported.network.logits.shape(), Shape({32, 5}));
  EXPECT_EQ(imported.Count("Transpose"), 1);  // of the feed
}

// Below the lowest trained variable there is no backward phase.
TEST(OnnxTrainingTest, FrozenLayersHaveNoGradients) {
  const std::string text = MakeModel(
      InputText("x", "[2, 3, 4, 4]") + OutputText("y") +
      WeightText("w1", {5, 3, 3, 3}) + WeightText("w2", {5, 5, 2, 2}) +
      R"(node { op_type: "Conv" input: "x" input: "w1" output: "c" }
         node { op_type: "Conv" input: "c" input: "w2" output: "y" })");
  const auto count = [&](const std::vector<std::string>& freeze) {
    const absl::StatusOr<OnnxModel> model = OnnxModel::Parse(text, "m.onnx");
    EXPECT_THAT(model.status(), IsOk());
    GraphBuilder g;
    const absl::StatusOr<OnnxNetwork> network =
        model->AddTo(g, {.freeze = freeze, .training = OnnxTrainingOptions()});
    EXPECT_THAT(network.status(), IsOk());
    Minimize(g.Scope("sgd"), network->loss, Sgd());
    const absl::StatusOr<Graph> graph = std::move(g).Build();
    EXPECT_THAT(graph.status(), IsOk());
    return std::ranges::count_if(graph->nodes(), [](const Node& node) {
      return node.op.starts_with("Conv2DBackprop");
    });
  };
  EXPECT_EQ(count({}), 3);
  EXPECT_EQ(count({"w1"}), 1);
}

class OnnxDataTest : public ::testing::Test {
 protected:
  OnnxDataTest()
      : model_(*Import(LinearModel(), {.training = OnnxTrainingOptions()})) {}

  absl::StatusOr<std::unique_ptr<OnnxTrainingData>> Open(
      const TensorMap& tensors, const std::string& target = "") {
    EXPECT_THAT(WriteSafetensors(folder_.File("d.safetensors"), tensors),
                IsOk());
    return OnnxTrainingData::Open(folder_.File("d.safetensors"), model_.network,
                                  target);
  }

  static HostTensor Inputs(int64_t samples) {
    std::vector<float> data(static_cast<size_t>(3 * samples));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
    return MakeHostTensor({.dtype = DType::kFloat32, .shape = {samples, 3}},
                          data);
  }
  static HostTensor Labels(const std::vector<int64_t>& labels) {
    return MakeHostTensor({.dtype = DType::kInt64,
                           .shape = {static_cast<int64_t>(labels.size())}},
                          labels);
  }

  testing::TemporaryFolder folder_;
  Imported model_;
};

TEST_F(OnnxDataTest, FieldsAreInputAndTarget) {
  ASSERT_OK_AND_ASSIGN(const auto data,
                       Open({{"x", Inputs(3)}, {"labels", Labels({1, 0, 1})}}));
  EXPECT_EQ(data->size(), 3);
  ASSERT_THAT(data->fields(), SizeIs(2));
  EXPECT_EQ(data->fields()[0].shape, Shape({3}));
  EXPECT_EQ(data->fields()[1].dtype, DType::kInt32);
  ASSERT_OK_AND_ASSIGN(const Batch sample, data->Get(2));
  EXPECT_EQ(static_cast<const float*>(sample[0].data)[1], 7);
  EXPECT_EQ(*static_cast<const int32_t*>(sample[1].data), 1);
}

TEST_F(OnnxDataTest, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(Open({{"x", Inputs(3)}}), IsRefused("has no tensor labels"));
  EXPECT_THAT(Open({{"x", Inputs(3)}, {"labels", Labels({1, 0})}}),
              IsRefused("labels has 2 samples, other tensors 3"));
  EXPECT_THAT(
      Open({{"x", Labels({1, 2, 3})}, {"labels", Labels({1, 0, 1})}}),
      IsRefused("input x is float32[3, 3] in the model, int64[3] in the file"));
  EXPECT_THAT(Open({{"x", Inputs(1)}, {"labels", Labels({int64_t{1} << 40})}}),
              IsRefused("of sample 0 is no class"));
  EXPECT_THAT(Open({{"x", Inputs(2)}, {"labels", Labels({0, 1})}}, "classes"),
              IsRefused("has no tensor classes"));
}

class OnnxExportTest : public ::testing::Test {
 protected:
  absl::StatusOr<OnnxModel> Read(const std::string& bytes) {
    EXPECT_THAT(WriteFileAtomically(folder_.File("m.onnx"), bytes), IsOk());
    return OnnxModel::Read(folder_.File("m.onnx"));
  }

  testing::TemporaryFolder folder_;
};

const std::string& ConvModel() {
  static const std::string kModel =
      MakeModel(InputText("x", "[2, 3, 4, 4]") + OutputText("y") +
                WeightText("w", {5, 3, 2, 2}) +
                R"(initializer { name: "half" data_type: 10 dims: 5
           int32_data: 15360 int32_data: 0 int32_data: 0 int32_data: 0
           int32_data: 48128 }
         node { name: "conv" op_type: "Conv" input: "x" input: "w" input: "half"
           output: "y" })");
  return kModel;
}

TEST_F(OnnxExportTest, WithoutTrainingEveryValueIsAsItWas) {
  ASSERT_OK_AND_ASSIGN(const OnnxModel model, Read(ConvModel()));
  GraphBuilder g;
  ASSERT_OK_AND_ASSIGN(const OnnxNetwork network, model.AddTo(g, {}));
  ASSERT_OK_AND_ASSIGN(const TensorMap values,
                       model.InitialValues(network.variables));
  EXPECT_EQ(values.at("w").type.shape, Shape({5, 2, 2, 3}));
  const std::string path = folder_.File("out.onnx");
  ASSERT_THAT(ExportOnnx(model, network.variables, values, path), IsOk());
  onnx::ModelProto before;
  onnx::ModelProto after;
  ASSERT_TRUE(before.ParseFromString(ConvModel()));
  ASSERT_OK_AND_ASSIGN(const std::string written, ReadFile(path));
  ASSERT_TRUE(after.ParseFromString(written));
  const auto& w = after.graph().initializer(0);
  ASSERT_EQ(w.raw_data().size(), 60u * 4);
  for (int i = 0; i < 60; ++i) {
    float value = 0;
    std::memcpy(&value, w.raw_data().data() + 4 * i, sizeof value);
    EXPECT_EQ(value, before.graph().initializer(0).float_data(i));
  }
  // 1, 0, 0, 0, -1 as float16.
  EXPECT_EQ(after.graph().initializer(1).raw_data(),
            std::string("\x00\x3c\x00\x00\x00\x00\x00\x00\x00\xbc", 10));
  EXPECT_EQ(after.graph().node(0).SerializeAsString(),
            before.graph().node(0).SerializeAsString());
}

TEST_F(OnnxExportTest, AFileCanBeExportedOverItself) {
  ASSERT_OK_AND_ASSIGN(const OnnxModel model, Read(ConvModel()));
  GraphBuilder g;
  ASSERT_OK_AND_ASSIGN(const OnnxNetwork network, model.AddTo(g, {}));
  TensorMap values;
  values["w"] =
      MakeHostTensor({.dtype = DType::kFloat32, .shape = {5, 2, 2, 3}},
                     std::vector<float>(60, 7));
  ASSERT_THAT(
      ExportOnnx(model, network.variables, values, folder_.File("m.onnx")),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const OnnxModel again,
                       OnnxModel::Read(folder_.File("m.onnx")));
  ASSERT_OK_AND_ASSIGN(const TensorMap read,
                       again.InitialValues(network.variables));
  EXPECT_EQ(read.at("w"), values["w"]);
}

TEST_F(OnnxExportTest, WeightsAreUnderTheirOwnNamesAndInTheModelsOrder) {
  ASSERT_OK_AND_ASSIGN(const OnnxModel model, Read(ConvModel()));
  GraphBuilder g;
  ASSERT_OK_AND_ASSIGN(const OnnxNetwork network, model.AddTo(g, {}));
  ASSERT_OK_AND_ASSIGN(const TensorMap values,
                       model.InitialValues(network.variables));
  const std::string path = folder_.File("w.safetensors");
  ASSERT_THAT(ExportOnnxWeights(network.variables, values, path), IsOk());
  ASSERT_OK_AND_ASSIGN(const TensorMap weights, ReadSafetensors(path));
  EXPECT_EQ(weights.at("w").type.shape, Shape({5, 3, 2, 2}));
  EXPECT_EQ(weights.at("w").data<float>()[13], 13.0F / 8);
  EXPECT_EQ(weights.at("half").type.dtype, DType::kFloat16);
}

TEST_F(OnnxExportTest, AVariableOfAnotherShapeIsRefused) {
  ASSERT_OK_AND_ASSIGN(const OnnxModel model, Read(ConvModel()));
  GraphBuilder g;
  ASSERT_OK_AND_ASSIGN(const OnnxNetwork network, model.AddTo(g, {}));
  TensorMap values;
  values["w"] = MakeHostTensor({.dtype = DType::kFloat32, .shape = {1}},
                               std::vector<float>{7});
  EXPECT_THAT(
      ExportOnnx(model, network.variables, values, folder_.File("out.onnx")),
      IsRefused("w: is float32[1], not float32[5, 2, 2, 3]"));
}

}  // namespace
}  // namespace spillway
