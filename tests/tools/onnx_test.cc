// Models of ONNX files in the program: --onnx of every command.
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx_model/make_model.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/run_program.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using testing::ExpectExactMemory;
using ::testing::HasSubstr;
using testing::InputText;
using testing::IsOk;
using testing::MakeHostTensor;
using testing::MakeModel;
using testing::OutputText;
using testing::ProgramRun;
using testing::RunForJson;
using testing::RunProgram;
using ::testing::SizeIs;
using testing::WeightText;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

// A small convolutional network with batch norm.
std::string Network() {
  return MakeModel(InputText("x", "[N, 3, 8, 8]") + OutputText("y") +
                   WeightText("w1", {8, 3, 3, 3}) + WeightText("scale", {8}) +
                   WeightText("offset", {8}) + WeightText("mean", {8}) +
                   WeightText("var", {8}) + WeightText("w2", {8, 8, 3, 3}) +
                   WeightText("fc", {4, 128}) + R"(
    node { name: "conv1" op_type: "Conv" input: "x" input: "w1" output: "c1"
      attribute { name: "pads" type: INTS ints: 1 ints: 1 ints: 1 ints: 1 } }
    node { name: "bn" op_type: "BatchNormalization" input: "c1" input: "scale"
      input: "offset" input: "mean" input: "var" output: "n1" }
    node { op_type: "Relu" input: "n1" output: "r1" }
    node { name: "conv2" op_type: "Conv" input: "r1" input: "w2" output: "c2"
      attribute { name: "pads" type: INTS ints: 1 ints: 1 ints: 1 ints: 1 } }
    node { op_type: "Add" input: "c2" input: "r1" output: "s" }
    node { op_type: "Relu" input: "s" output: "r2" }
    node { op_type: "AveragePool" input: "r2" output: "p"
      attribute { name: "kernel_shape" type: INTS ints: 2 ints: 2 }
      attribute { name: "strides" type: INTS ints: 2 ints: 2 } }
    node { op_type: "Flatten" input: "p" output: "f" }
    node { name: "out" op_type: "Gemm" input: "f" input: "fc" output: "y"
      attribute { name: "transB" type: INT i: 1 } })");
}

class OnnxTest : public ::testing::Test {
 protected:
  OnnxTest() {
    Write("net.onnx", Network());
    Write("linear.onnx",
          MakeModel(InputText("x", "[2, 2]") + OutputText("y") +
                    WeightText("w", {2, 1}) +
                    "node { op_type: \"MatMul\" input: \"x\" input: \"w\" "
                    "output: \"y\" }"));
    SaveData("data.safetensors", 10);
  }

  // Samples with labels 0, 1, 2, 3, 0, ...
  void SaveData(const std::string& name, int64_t samples) {
    std::vector<float> images(static_cast<size_t>(samples * 3 * 64));
    for (size_t i = 0; i < images.size(); ++i) {
      images[i] = static_cast<float>((i * 37) % 101) / 101 - 0.5F;
    }
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < samples; ++i) labels.push_back(i % 4);
    Save(
        name,
        {{"x",
          MakeHostTensor(
              {.dtype = DType::kFloat32, .shape = {samples, 3, 8, 8}}, images)},
         {"labels", MakeHostTensor({.dtype = DType::kInt64, .shape = {samples}},
                                   labels)}});
  }

  std::string Path(const std::string& name) const { return folder_.File(name); }
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_THAT(WriteFileAtomically(Path(name), bytes), IsOk());
  }
  void Save(const std::string& name, const TensorMap& tensors) {
    ASSERT_THAT(WriteSafetensors(Path(name), tensors), IsOk());
  }

  Words Train(const Words& more) const {
    Words words = {"train",
                   "--onnx",
                   Path("net.onnx"),
                   "--data_file",
                   Path("data.safetensors"),
                   "--batch_size",
                   "4",
                   "--num_steps",
                   "6",
                   "--optimizer",
                   "momentum",
                   "--learning_rate",
                   "0.001",
                   "--threads",
                   "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(OnnxTest, RunsAModelAsItsFileSays) {
  Save("in.safetensors",
       {{"x", MakeHostTensor({.dtype = DType::kFloat32, .shape = {2, 2}},
                             std::vector<float>{1, 2, 3, 4})},
        {"w", MakeHostTensor({.dtype = DType::kFloat32, .shape = {2, 1}},
                             std::vector<float>{10, 1})}});
  const ProgramRun run = RunProgram({"run", "--onnx", Path("linear.onnx"),
                                     "--feeds", Path("in.safetensors"),
                                     "--fetches", Path("out.safetensors")});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  ASSERT_OK_AND_ASSIGN(const TensorMap out,
                       ReadSafetensors(Path("out.safetensors")));
  const float* y = out.at("y").data<float>();
  EXPECT_EQ(y[0], 12);
  EXPECT_EQ(y[1], 34);
}

// w <- w - rate g, by hand.
TEST_F(OnnxTest, AStepOfSgdIsExact) {
  Save("d.safetensors",
       {{"x", MakeHostTensor({.dtype = DType::kFloat32, .shape = {2, 2}},
                             std::vector<float>{1, 0, 0, 2})},
        {"targets", MakeHostTensor({.dtype = DType::kFloat32, .shape = {2, 1}},
                                   std::vector<float>{1, 1})}});
  const Json json =
      RunForJson({"train", "--onnx", Path("linear.onnx"), "--data_file",
                  Path("d.safetensors"), "--loss", "mean_squared_error",
                  "--batch_size", "2", "--num_steps", "1", "--learning_rate",
                  "0.5", "--export_weights", Path("w.safetensors")});
  // y = (0, 1/4); loss = (1 + 9/16) / 2; dw = ((0 - 1) 1, (1/4 - 1) 2).
  EXPECT_EQ(json["losses"], Json({0.78125}));
  ASSERT_OK_AND_ASSIGN(const TensorMap w,
                       ReadSafetensors(Path("w.safetensors")));
  EXPECT_EQ(w.at("w").data<float>()[0], 0.5F);
  EXPECT_EQ(w.at("w").data<float>()[1], 0.125F + 0.75F);
}

TEST_F(OnnxTest, TrainsAlikeWithinAnyBudget) {
  const Json plenty = RunForJson(Train({}));
  EXPECT_THAT(plenty["losses"], SizeIs(6));
  ExpectExactMemory(plenty);
  const auto peak = plenty["peak_device_bytes"]["measured"].get<int64_t>();
  const Json less = RunForJson(Train(
      {"--lms", "auto", "--device_memory", std::to_string(peak * 3 / 4)}));
  ExpectExactMemory(less);
  EXPECT_EQ(less["losses"], plenty["losses"]);
  EXPECT_EQ(less["checksum"], plenty["checksum"]);
  EXPECT_LT(less["peak_device_bytes"]["measured"].get<int64_t>(), peak);
  EXPECT_EQ(plenty["model"], "net.onnx");
  EXPECT_EQ(plenty["onnx"]["transposes"], 1);
}

// Ten samples in batches of four: step 2 reads the samples 8, 9, 0, 1.
TEST_F(OnnxTest, BatchesGoOnWithTheFirstSamples) {
  const Json dry = RunForJson(Train({"--dry_run"}));
  const Json& window = dry["updates"][2]["windows"][0];
  EXPECT_EQ(window["begin"], 8);
  EXPECT_EQ(window["end"], 12);
  EXPECT_EQ(dry["updates"][3]["windows"][0]["begin"], 2);
}

// Eight samples in batches of four: step 4 reads what step 0 has read.
TEST_F(OnnxTest, TheExportedModelGoesOnWhereTheTrainingStopped) {
  SaveData("eight.safetensors", 8);
  const auto train = [&](const std::string& model, const std::string& steps,
                         const Words& more) {
    Words words = {"train",
                   "--onnx",
                   Path(model),
                   "--data_file",
                   Path("eight.safetensors"),
                   "--batch_size",
                   "4",
                   "--num_steps",
                   steps,
                   "--learning_rate",
                   "0.001",
                   "--threads",
                   "1"};
    words.insert(words.end(), more.begin(), more.end());
    return RunForJson(words);
  };
  const Json longer = train("net.onnx", "5", {});
  train("net.onnx", "4", {"--export_onnx", Path("tuned.onnx")});
  const Json again = train("tuned.onnx", "1", {});
  EXPECT_EQ(again["losses"][0], longer["losses"][4]);
  EXPECT_EQ(again["checksum"], longer["checksum"]);
}

TEST_F(OnnxTest, StandsWhereverAModelDoes) {
  const Words source = {"--onnx", Path("net.onnx"), "--batch_size", "8"};
  const auto with = [&](Words words) {
    words.insert(words.end(), source.begin(), source.end());
    return words;
  };
  const Json inspected = RunForJson(with({"inspect"}));
  EXPECT_GT(inspected["nodes"].get<int>(), 20);
  const Json tuned = RunForJson(with({"tune", "--device_memory", "1GiB"}));
  const Json bench = RunForJson(
      with({"bench", "--num_batches", "2", "--num_warmup_batches", "0"}));
  ExpectExactMemory(bench);
  EXPECT_EQ(bench["batch_size"], 8);
  EXPECT_EQ(RunProgram(with({"simulate"})).exit_status, 0);
  EXPECT_EQ(RunProgram(with({"simulate", "--forward_only"})).exit_status, 0);
  const Json forward =
      RunForJson(with({"bench", "--forward_only", "--num_batches", "1",
                       "--num_warmup_batches", "0"}));
  EXPECT_LT(forward["peak_device_bytes"]["measured"].get<int64_t>(),
            bench["peak_device_bytes"]["measured"].get<int64_t>());
}

TEST_F(OnnxTest, ImportsToAGraphFileThatComputesTheSame) {
  ASSERT_EQ(RunProgram({"import", "--onnx", Path("linear.onnx"), "--out",
                        Path("g.json"), "--weights", Path("w.safetensors")})
                .exit_status,
            0);
  ASSERT_OK_AND_ASSIGN(TensorMap feeds, ReadSafetensors(Path("w.safetensors")));
  feeds["x"] = MakeHostTensor({.dtype = DType::kFloat32, .shape = {2, 2}},
                              std::vector<float>{8, 0, 0, 16});
  Save("feed.safetensors", feeds);
  const ProgramRun run = RunProgram(
      {"run", "--graph", Path("g.json"), "--feed", Path("feed.safetensors"),
       "--fetch", "MatMul_y", "--out", Path("out.safetensors")});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  ASSERT_OK_AND_ASSIGN(const TensorMap out,
                       ReadSafetensors(Path("out.safetensors")));
  EXPECT_EQ(out.at("MatMul_y").data<float>()[1], 2);
}

TEST_F(OnnxTest, PlansWhatCannotBeImported) {
  Write("own.onnx", MakeModel(InputText("x", "[N, 3]") + OutputText("y") +
                              WeightText("w", {3, 2}) + R"(
          value_info { name: "a" type { tensor_type { elem_type: 1 shape {
            dim { dim_param: "N" } dim { dim_value: 3 } } } } }
          node { name: "own" op_type: "Thing" domain: "me" input: "x"
            output: "a" }
          node { op_type: "MatMul" input: "a" input: "w" output: "y" })"));
  const Json facts =
      RunForJson({"import", "--onnx", Path("own.onnx"), "--plan_only", "--loss",
                  "sparse_softmax_cross_entropy", "--batch_size", "4", "--out",
                  Path("g.json")});
  EXPECT_EQ(facts["unsupported"], (Json::array({{{"op", "Thing"},
                                                 {"domain", "me"},
                                                 {"count", 1},
                                                 {"first_node", "own"},
                                                 {"why", ""}}})));
  // The file and the model give the same plan, but for the loss, which the
  // model's step returns.
  constexpr int64_t kLossBytes = 256;
  const Json of_file = RunForJson({"simulate", "--graph", Path("g.json")});
  const Json of_model = RunForJson({"simulate", "--onnx", Path("own.onnx"),
                                    "--plan_only", "--batch_size", "4"});
  EXPECT_EQ(of_file["peak_device_bytes"].get<int64_t>() + kLossBytes,
            of_model["peak_device_bytes"].get<int64_t>());
  const ProgramRun run =
      RunProgram({"run", "--graph", Path("g.json"), "--fetch", "loss/Mean:0"});
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.err, HasSubstr("Thing"));
}

struct BadOnnx {
  Words words = {};
  std::string text = {};
};

TEST_F(OnnxTest, FaultsEndWithOneLineAndStatus2) {
  Write("none.onnx", MakeModel(InputText("x", "[2]") + OutputText("y") +
                               "node { name: \"n\" op_type: \"Unique\" input: "
                               "\"x\" output: \"y\" }"));
  Write("broken.onnx", Network().substr(0, 100));
  const std::string net = Path("net.onnx");
  const std::vector<BadOnnx> faults = {
      {{"train", "--onnx", net}, "--onnx needs --data_file"},
      {{"train", "--onnx", net, "--data_file", Path("none")},
       "--data_file: cannot read " + Path("none")},
      {{"train", "--onnx", net, "--data", "mnist", "--data_file", "x"},
       "--data is for models of the zoo"},
      {{"inspect", "--onnx", net, "--image_size", "8"},
       "--image_size is for models of the zoo"},
      {{"inspect", "--onnx", net, "--model", "lenet"}, "excludes"},
      {{"inspect", "--onnx", net, "--freeze", "nothing"},
       "'nothing' finds no initializer"},
      {{"inspect", "--onnx", Path("none.onnx")},
       "cannot import Unique (1, first n)"},
      {{"inspect", "--onnx", Path("broken.onnx")}, "not an ONNX model"},
      {{"inspect", "--onnx", Path("missing.onnx")}, "missing.onnx"},
      {{"run", "--onnx", net}, "input x is missing"},
      {{"run", "--onnx", net, "--fetch", "y"}, "excludes"},
      {{"run"}, "one of --graph and --onnx is needed"},
      {{"import"}, "--onnx is required"},
      {{"import", "--onnx", net, "--plan_only", "--weights", "w"},
       "--plan_only"},
      {{"train", "--onnx", net, "--plan_only"}, "--plan_only"},
      {{"tune", "--plan_only"}, "--plan_only requires --onnx"},
      {{"inspect", "--loss", "none"}, "--loss requires --onnx"},
  };
  for (const BadOnnx& fault : faults) {
    const ProgramRun run = RunProgram(fault.words);
    EXPECT_EQ(run.exit_status, 2) << fault.text;
    EXPECT_THAT(run.err, HasSubstr(fault.text));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace spillway
