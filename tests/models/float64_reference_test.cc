// Loss and gradients of whole networks against an independent evaluation in
// float64 (reference_float64/, made with PyTorch, which is not needed here).
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "executor/session/session.h"
#include "graph/passes/rewrite.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "nlohmann/json.hpp"
#include "ops/all_ops.h"
#include "tests/support/host_tensor.h"
#include "tests/support/new_session.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::FeedsOf;
using testing::MakeHostTensor;
using testing::NewSession;
using Json = nlohmann::ordered_json;

constexpr int64_t kBatch = 4;
constexpr int32_t kLabels = 3;

// `count` numbers in [-1, 1): splitmix64 of a counter that starts at the FNV-1a
// hash of the name. Equal to `uniform` in make_reference.py.
std::vector<double> Uniform(const std::string& name, int64_t count) {
  uint64_t key = 0xCBF29CE484222325;
  for (const unsigned char byte : name) key = (key ^ byte) * 0x100000001B3;
  std::vector<double> numbers;
  for (int64_t i = 1; i <= count; ++i) {
    uint64_t z = key + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    numbers.push_back(static_cast<double>(z >> 40) / 8388608.0 - 1);
  }
  return numbers;
}

HostTensor ToFloat32(const TensorType& type, const std::vector<double>& from) {
  return MakeHostTensor(type, std::vector<float>(from.begin(), from.end()));
}

// Equal to `variable_value` in make_reference.py.
HostTensor VariableValue(const std::string& name, const TensorType& type) {
  const int64_t count = type.num_elements();
  const std::string kind = name.substr(name.rfind('/') + 1);
  std::vector<double> values = Uniform(name, count);
  const int rank = type.shape.rank();
  for (double& u : values) {
    if (rank >= 2) {
      const int64_t fan_in =
          rank == 2 ? type.shape.dim(0) : count / type.shape.dim(0);
      u *= std::sqrt(3.0 / static_cast<double>(fan_in));
    } else if (kind == "scale") {
      u = 1 + u / 4;
    } else if (kind == "moving_variance") {
      u = 1;
    } else {
      u /= 4;
    }
  }
  return ToFloat32(type, values);
}

// `graph` without the effect of dropout.
RewrittenGraph WithoutDropout(const Graph& graph) {
  GraphRewrite rewrite(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op != "Dropout" && node.op != "DropoutGrad") continue;
    NodeSpec spec = SpecOf(graph, node);
    spec.attributes.Set("rate", 0.0);
    rewrite.Replace(node.id, std::move(spec));
  }
  return rewrite.Apply();
}

// The smooth op that replaces an op with a kink.
std::string SmoothOp(const std::string& op) {
  if (op == "Relu" || op == "Relu6") return "Elu";
  if (op == "MaxPool") return "AvgPool";
  return op == "MaxPool3D" ? "AvgPool3D" : op;
}

bool HasFusedRelu(const Node& node) {
  return node.attributes.GetString("activation", "none").value_or("") == "relu";
}

// Adds the smooth variant of `node`, with these inputs.
std::vector<Tensor> AddSmoothNode(GraphBuilder& g, const Node& node,
                                  std::vector<Tensor> inputs) {
  OpSpec spec = {.op = SmoothOp(node.op),
                 .inputs = std::move(inputs),
                 .attributes = node.attributes,
                 .name = node.name};
  if (!HasFusedRelu(node)) return g.AddAll(g, std::move(spec));
  spec.attributes.Set("activation", "none");
  std::vector<Tensor> outputs = g.AddAll(g, std::move(spec));
  if (outputs.empty()) return outputs;
  outputs[0] = g.Add(g, {.op = "Elu", .inputs = {outputs[0]}});
  return outputs;
}

// Adds the smooth variants of the forward nodes of `model`. Returns the node
// that replaces `loss`.
Tensor AddSmooth(GraphBuilder& g, const Graph& model, ValueId loss) {
  IdMap<ValueId, Tensor> made(model.num_values());
  for (const Node& node : model.nodes()) {
    std::vector<Tensor> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(made[input]);
    const std::vector<Tensor> outputs =
        AddSmoothNode(g, node, std::move(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      made[node.outputs[i]] = outputs[i];
    }
  }
  return made[loss];
}

// The training step's graph and its loss.
struct TrainingGraph {
  Graph graph;
  ValueId loss;
};

absl::StatusOr<TrainingGraph> BuildTraining(const std::string& name,
                                            const ModelOptions& options,
                                            bool is_smooth) {
  GraphBuilder g(StandardOps());
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph model,
                            BuildModel(g, name, options));
  GraphBuilder smooth(StandardOps());
  GraphBuilder& chosen = is_smooth ? smooth : g;
  const Tensor loss =
      is_smooth ? AddSmooth(smooth, g.graph(), model.loss.id()) : model.loss;
  Minimize(chosen.Scope("sgd_optimizer"), loss, Sgd());
  TrainingGraph training = {.graph = Graph(), .loss = loss.id()};
  SPILLWAY_ASSIGN_OR_RETURN(training.graph, std::move(chosen).Build());
  return training;
}

// One step of a network: its feeds, and the gradients for its updates.
struct Network {
  std::map<ValueId, HostTensor> feeds;
  ValueId loss;
  std::map<std::string, ValueId> gradients;  // by variable
  std::unique_ptr<Session> session;
};

std::map<std::string, ValueId> Gradients(const Graph& graph) {
  std::map<std::string, ValueId> gradients;
  for (const Node& node : graph.nodes()) {
    if (node.op != "ApplyGradientDescent") continue;
    gradients[graph.producer(node.inputs[0]).name] = node.inputs[1];
  }
  return gradients;
}

HostTensor Feed(const std::string& name, const TensorType& type) {
  if (type.dtype == DType::kInt32) {
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < type.num_elements(); ++i) {
      labels.push_back(static_cast<int32_t>(i % kLabels));
    }
    return MakeHostTensor(type, labels);
  }
  std::vector<double> values = Uniform(name, type.num_elements());
  for (double& value : values) value *= 2;
  return ToFloat32(type, values);
}

ModelOptions OptionsOf(const Json& reference) {
  ModelOptions options = {.batch_size = kBatch,
                          .image_size = reference["image_size"]};
  for (const std::string flag : reference["flags"]) {
    const std::string classes = "--num_classes=";
    if (flag == "--auxiliary_head") options.auxiliary_head = true;
    if (flag.starts_with(classes)) {
      options.num_classes = std::stoll(flag.substr(classes.size()));
    }
  }
  return options;
}

absl::StatusOr<Network> MakeNetwork(const Json& reference, bool is_smooth) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const TrainingGraph training,
      BuildTraining(reference["model"], OptionsOf(reference), is_smooth));
  Program program = {.graph = WithoutDropout(training.graph).graph};
  const Graph& graph = program.graph;

  Network network;
  network.loss = training.loss;
  network.gradients = Gradients(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op != "Placeholder") continue;
    network.feeds[node.outputs[0]] =
        Feed(node.name, graph.type(node.outputs[0]));
  }
  program.fetches = {network.loss};
  for (const auto& [variable, gradient] : network.gradients) {
    program.fetches.push_back(gradient);
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      network.session,
      NewSession(std::move(program), {.device = "inline", .threads = 2}));
  SPILLWAY_ASSIGN_OR_RETURN(auto variables, network.session->ReadVariables());
  for (auto& [variable, value] : variables) {
    value = VariableValue(variable, value.type);
  }
  SPILLWAY_RETURN_IF_ERROR(network.session->WriteVariables(variables));
  return network;
}

// The norm, and the product with a fixed random direction.
struct Summary {
  double norm = 0;
  double along_direction = 0;
};

Summary Summarize(const HostTensor& gradient) {
  const int64_t count = gradient.type.num_elements();
  const std::vector<double> direction = Uniform("direction", count);
  Summary summary;
  for (int64_t i = 0; i < count; ++i) {
    const double value = gradient.data<float>()[i];
    summary.norm += value * value;
    summary.along_direction += value * direction[static_cast<size_t>(i)];
  }
  summary.norm = std::sqrt(summary.norm);
  return summary;
}

Json ReadCases(const std::string& name) {
  const std::string path =
      testing::SourcePath("tests/models/reference_float64/" + name);
  const auto text = ReadFile(path);
  EXPECT_THAT(text, testing::IsOk());
  const auto json = ParseJson(text.value_or("{}"), path);
  EXPECT_THAT(json, testing::IsOk());
  return json.ok() ? json->value("cases", Json::array()) : Json::array();
}

// One network of the file, printed as its name.
struct ReferenceCase {
  Json json;

  friend void PrintTo(const ReferenceCase& self, std::ostream* out) {
    *out << self.json.at("model");
  }
};

struct Comparison {
  double loss_error = 0;  // relative to the loss
  // Relative to the gradient's norm. Gradients that are zero up to rounding,
  // those of biases before a batch norm, are left out.
  std::map<std::string, double> gradient_errors = {};  // by variable
};

absl::StatusOr<Comparison> Compare(const Json& reference, bool is_smooth) {
  constexpr double kLeastNorm = 1e-9;
  SPILLWAY_ASSIGN_OR_RETURN(const Network network,
                            MakeNetwork(reference, is_smooth));
  SPILLWAY_ASSIGN_OR_RETURN(const StepResult step,
                            network.session->Step(FeedsOf(network.feeds)));
  const double loss = reference["loss"];
  Comparison comparison = {
      .loss_error = std::abs(step.scalar(network.loss).value() - loss) / loss};
  for (const auto& [variable, expected] : reference["gradients"].items()) {
    if (!network.gradients.contains(variable)) {
      return absl::NotFoundError(variable);
    }
    const double norm = expected[0];
    const double along = expected[1];
    if (norm < kLeastNorm) continue;
    const Summary summary =
        Summarize(step.fetched.at(network.gradients.at(variable)));
    comparison.gradient_errors[variable] =
        std::max(std::abs(summary.norm - norm),
                 std::abs(summary.along_direction - along)) /
        norm;
  }
  return comparison;
}

class Float64ReferenceTest : public ::testing::TestWithParam<ReferenceCase> {};
class SmoothReferenceTest : public ::testing::TestWithParam<ReferenceCase> {};

// Rounding moves a few values over the kinks of ReLU and max pooling: more in
// deeper networks, and in networks that normalise fewer values together. A
// wrong gradient has an error of its own size. Small networks, whose values
// stay clear of the kinks, have their own tolerance: they check the ReLU that
// is part of a batch norm, which the smooth networks do not have. Inception-v4
// has a larger one: its last layers normalise the four values of a batch.
TEST_P(Float64ReferenceTest, LossAndGradientsAgree) {
  constexpr double kLossTolerance = 1e-4;
  constexpr double kGradientTolerance = 0.15;
  constexpr double kMeanPart = 2.0 / 3;  // of the tolerance
  const Json& reference = GetParam().json;
  const double tolerance =
      reference.value("gradient_tolerance", kGradientTolerance);
  ASSERT_OK_AND_ASSIGN(const Comparison comparison,
                       Compare(reference, /*is_smooth=*/false));
  EXPECT_LE(comparison.loss_error, kLossTolerance);
  double sum = 0;
  for (const auto& [variable, error] : comparison.gradient_errors) {
    EXPECT_LE(error, tolerance) << variable;
    sum += error;
  }
  EXPECT_LE(sum, kMeanPart * tolerance *
                     static_cast<double>(comparison.gradient_errors.size()));
}

// Without kinks, a rounding error changes the gradient only a little, so the
// test checks the scale of every layer's gradient.
TEST_P(SmoothReferenceTest, EveryGradientAgrees) {
  constexpr double kLossTolerance = 1e-5;
  constexpr double kGradientTolerance = 1e-3;
  ASSERT_OK_AND_ASSIGN(const Comparison comparison,
                       Compare(GetParam().json, /*is_smooth=*/true));
  EXPECT_LE(comparison.loss_error, kLossTolerance);
  EXPECT_FALSE(comparison.gradient_errors.empty());
  double worst = 0;
  for (const auto& [variable, error] : comparison.gradient_errors) {
    EXPECT_LE(error, kGradientTolerance) << variable;
    worst = std::max(worst, error);
  }
  RecordProperty("worst_gradient_error", std::to_string(worst));
}

std::string NameOf(const ::testing::TestParamInfo<ReferenceCase>& info) {
  std::string name = info.param.json["model"];
  std::ranges::replace(name, '.', '_');
  return name;
}

std::vector<ReferenceCase> Cases(const std::string& name) {
  std::vector<ReferenceCase> cases;
  for (const Json& json : ReadCases(name)) cases.push_back({json});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Zoo, Float64ReferenceTest,
                         ::testing::ValuesIn(Cases("reference.json")), NameOf);
INSTANTIATE_TEST_SUITE_P(Zoo, SmoothReferenceTest,
                         ::testing::ValuesIn(Cases("smooth.json")), NameOf);

}  // namespace
}  // namespace spillway
