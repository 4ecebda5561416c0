#include "models/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/edit_distance.h"
#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "models/layers/layers.h"

namespace spillway {
namespace {

constexpr auto kZoo = std::to_array<ModelSpec>({
    {"alexnet", AlexNet, 512, 227},
    {"alexnet_cifar", AlexNetCifar, 128, 32, 3, 10},
    {"cifar10_full", Cifar10Full, 128, 32, 3, 10},
    {"densenet100_k12", DenseNet100K12, 64, 32, 3, 10},
    {"densenet100_k24", DenseNet100K24, 64, 32, 3, 10},
    {"densenet40_k12", DenseNet40K12, 64, 32, 3, 10},
    {"googlenet", GoogLeNet, 32, 224},
    {"gpt_tiny", GptTiny, 32, 64, 64, 256, 0, false, 1, true},
    {"inception3", Inception3, 32, 299, 3, 1000, 2, true},
    {"inception4", Inception4, 32, 299},
    {"lenet", LeNet, 32, 28},
    {"mnist_deep", MnistDeep, 50, 28, 1, 10, 2, false, 1.0 / 255},
    {"mobilenet", MobileNet, 32, 224},
    {"mobilenet_v2", MobileNetV2, 32, 224},
    {"nasnet", NasNetMobile, 32, 224, 3, 1000, 2, true},
    {"nasnet_cifar", NasNetCifar, 32, 32, 3, 10, 2, true},
    {"nasnetlarge", NasNetLarge, 16, 331, 3, 1000, 2, true},
    {"overfeat", OverFeat, 32, 231},
    {"resnet101", ResNet101, 32, 224},
    {"resnet101_v1.5", ResNet101V15, 32, 224},
    {"resnet101_v2", ResNet101V2, 32, 224},
    {"resnet110", ResNet110, 128, 32, 3, 10},
    {"resnet110_v2", ResNet110V2, 128, 32, 3, 10},
    {"resnet152", ResNet152, 32, 224},
    {"resnet152_v1.5", ResNet152V15, 32, 224},
    {"resnet152_v2", ResNet152V2, 32, 224},
    {"resnet20", ResNet20, 128, 32, 3, 10},
    {"resnet20_v2", ResNet20V2, 128, 32, 3, 10},
    {"resnet32", ResNet32, 128, 32, 3, 10},
    {"resnet32_v2", ResNet32V2, 128, 32, 3, 10},
    {"resnet44", ResNet44, 128, 32, 3, 10},
    {"resnet44_v2", ResNet44V2, 128, 32, 3, 10},
    {"resnet50", ResNet50, 64, 224},
    {"resnet50_v1.5", ResNet50V15, 64, 224},
    {"resnet50_v2", ResNet50V2, 64, 224},
    {"resnet56", ResNet56, 128, 32, 3, 10},
    {"resnet56_v2", ResNet56V2, 128, 32, 3, 10},
    {"ssd300", Ssd300, 32, 300, 3, 81},
    {"trivial", Trivial, 32, 227},
    {"unet2d", UNet2D, 4, 256, 3, 2},
    {"unet2d_valid", UNet2DValid, 1, 572, 1, 2},
    {"unet3d", UNet3D, 1, 64, 4, 1, 3},
    {"vgg11", Vgg11, 64, 224},
    {"vgg16", Vgg16, 64, 224},
    {"vgg19", Vgg19, 64, 224},
    {"vit_tiny", VitTiny, 32, 224},
});

// Of equally near names, the first one.
std::string_view NearestName(std::string_view name) {
  const auto distance = [&](const ModelSpec& spec) {
    return EditDistance(name, spec.name);
  };
  return std::ranges::min_element(kZoo, {}, distance)->name;
}

absl::Status FillIn(std::string_view what, int64_t default_value,
                    int64_t& value) {
  if (value < 0) {
    return InvalidArgument(
        fmt::format("{} is {}, must not be negative", what, value));
  }
  if (value == 0) value = default_value;
  return absl::OkStatus();
}

absl::StatusOr<ModelOptions> WithDefaults(const ModelSpec& spec,
                                          ModelOptions options) {
  SPILLWAY_RETURN_IF_ERROR(
      FillIn("batch_size", spec.default_batch_size, options.batch_size));
  SPILLWAY_RETURN_IF_ERROR(
      FillIn("image_size", spec.default_image_size, options.image_size));
  SPILLWAY_RETURN_IF_ERROR(
      FillIn("channels", spec.default_channels, options.channels));
  SPILLWAY_RETURN_IF_ERROR(
      FillIn("num_classes", spec.default_num_classes, options.num_classes));
  if (options.auxiliary_head && !spec.has_auxiliary_head) {
    return InvalidArgument(fmt::format("{} has no auxiliary head", spec.name));
  }
  return options;
}

Shape ImageShape(const ModelSpec& spec, const ModelOptions& options) {
  std::vector<int64_t> dims(static_cast<size_t>(spec.spatial_rank) + 2,
                            options.image_size);
  dims.front() = options.batch_size;
  dims.back() = options.channels;
  return Shape(std::move(dims));
}

// The feed of the network, and what it reads: pixels in the precision of
// activations, or tokens.
Tensor AddInput(GraphBuilder& g, const ModelSpec& spec, ModelGraph& model) {
  const ModelOptions& options = model.options;
  if (spec.reads_tokens) {
    model.has_pixels = false;
    model.images = g.Placeholder("tokens", DType::kInt32,
                                 {options.batch_size, options.image_size});
    return model.images;
  }
  model.images =
      g.Placeholder("images", DType::kFloat32, ImageShape(spec, options));
  return CastTo(g.Scope("images"), model.images, options.dtype);
}

// Mean cross entropy of `logits`, computed in float32.
Tensor Classify(const NameScope& scope, Tensor logits, Tensor rows) {
  return SparseSoftmaxCrossEntropy(
      scope, CastTo(scope, logits, DType::kFloat32), rows);
}

// `loss` plus the losses of the auxiliary heads and the regression.
Tensor AddSideLosses(GraphBuilder& g, const Network& network, Tensor rows,
                     ModelGraph& model) {
  Tensor loss = model.loss;
  for (const AuxiliaryLogits& side : network.auxiliary) {
    const NameScope scope = g.Scope("auxiliary_loss");
    const Tensor part = Classify(scope, side.logits, rows);
    loss = Add(scope, loss, Scale(scope, part, side.weight));
  }
  if (network.regression.is_valid()) {
    const NameScope scope = g.Scope("regression_loss");
    const Tensor fitted = CastTo(scope, network.regression, DType::kFloat32);
    model.targets = g.Placeholder("targets", DType::kFloat32, fitted.shape());
    loss = Add(scope, loss, MeanSquaredDistance(scope, fitted, model.targets));
  }
  return loss;
}

// Adds labels, loss and accuracies to the network's outputs.
void AddResults(GraphBuilder& g, const Network& network, ModelGraph& model) {
  const bool one_each = network.labels.rank() == 0;
  const Shape batch = {model.options.batch_size};
  model.labels =
      g.Placeholder("labels", DType::kInt32, one_each ? batch : network.labels);
  const NameScope scope = g.Scope("loss");
  const Tensor rows = one_each ? model.labels : FlattenAll(scope, model.labels);
  model.features = network.features;
  model.logits = CastTo(scope, network.logits, DType::kFloat32);
  model.loss = Classify(scope, model.logits, rows);
  model.loss = AddSideLosses(g, network, rows, model);
  const NameScope accuracy = g.Scope("accuracy");
  model.correct = InTopK(accuracy, model.logits, rows, 1);
  model.accuracy = TrueFraction(accuracy, model.correct);
  model.top_5_accuracy =
      Accuracy(g.Scope("top_5_accuracy"), model.logits, rows,
               std::min<int64_t>(5, model.options.num_classes));
}

}  // namespace

std::span<const ModelSpec> Zoo() { return kZoo; }

absl::StatusOr<ModelSpec> FindModel(std::string_view name) {
  std::string known;
  for (const ModelSpec& spec : kZoo) {
    if (spec.name == name) return spec;
    known += fmt::format(" {}", spec.name);
  }
  return InvalidArgument(
      fmt::format("there is no model named '{}'; did you mean '{}'? known:{}",
                  name, NearestName(name), known));
}

absl::StatusOr<ModelGraph> BuildModel(GraphBuilder& g, std::string_view name,
                                      const ModelOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const ModelSpec spec, FindModel(name));
  ModelGraph model;
  SPILLWAY_ASSIGN_OR_RETURN(model.options, WithDefaults(spec, options));
  model.pixel_scale = spec.pixel_scale;
  const Network network =
      spec.build(g, AddInput(g, spec, model), model.options);
  AddResults(g, network, model);
  SPILLWAY_RETURN_IF_ERROR(Annotate(g.status(), name));
  return model;
}

int64_t CountParameters(const Graph& graph) {
  int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op != kVariable) continue;
    const bool trainable = node.attributes.GetBool("trainable", true).value();
    if (trainable) count += graph.type(node.outputs[0]).num_elements();
  }
  return count;
}

}  // namespace spillway
