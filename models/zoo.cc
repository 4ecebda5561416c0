#include "models/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "models/layers.h"

namespace spillway {
namespace {

constexpr auto kZoo = std::to_array<ModelSpec>({
    {"alexnet", AlexNet, 512, 227},
    {"lenet", LeNet, 32, 28},
    {"mnist_deep", MnistDeep, 50, 28, 1, 10},
    {"overfeat", OverFeat, 32, 231},
    {"resnet101", ResNet101, 32, 224},
    {"resnet101_v1.5", ResNet101V15, 32, 224},
    {"resnet101_v2", ResNet101V2, 32, 224},
    {"resnet152", ResNet152, 32, 224},
    {"resnet152_v1.5", ResNet152V15, 32, 224},
    {"resnet152_v2", ResNet152V2, 32, 224},
    {"resnet50", ResNet50, 64, 224},
    {"resnet50_v1.5", ResNet50V15, 64, 224},
    {"resnet50_v2", ResNet50V2, 64, 224},
    {"vgg11", Vgg11, 64, 224},
    {"vgg16", Vgg16, 64, 224},
    {"vgg19", Vgg19, 64, 224},
});

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
  RETURN_IF_ERROR(
      FillIn("batch_size", spec.default_batch_size, options.batch_size));
  RETURN_IF_ERROR(
      FillIn("image_size", spec.default_image_size, options.image_size));
  RETURN_IF_ERROR(FillIn("channels", spec.default_channels, options.channels));
  RETURN_IF_ERROR(
      FillIn("num_classes", spec.default_num_classes, options.num_classes));
  return options;
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
      fmt::format("there is no model named '{}'; known:{}", name, known));
}

absl::StatusOr<ModelGraph> BuildModel(GraphBuilder& g, std::string_view name,
                                      const ModelOptions& options) {
  ASSIGN_OR_RETURN(const ModelSpec spec, FindModel(name));
  ModelGraph model;
  ASSIGN_OR_RETURN(model.options, WithDefaults(spec, options));
  const auto& [batch, size, channels, classes, is_training] = model.options;

  model.images =
      g.Placeholder("images", DType::kFloat32, {batch, size, size, channels});
  model.labels = g.Placeholder("labels", DType::kInt32, {batch});
  const Network network = spec.build(g, model.images, model.options);
  model.features = network.features;
  model.logits = network.logits;
  model.loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), model.logits, model.labels);
  const NameScope accuracy = g.Scope("accuracy");
  model.correct = InTopK(accuracy, model.logits, model.labels, 1);
  model.accuracy = TrueFraction(accuracy, model.correct);
  model.top_5_accuracy = Accuracy(g.Scope("top_5_accuracy"), model.logits,
                                  model.labels, std::min<int64_t>(5, classes));
  RETURN_IF_ERROR(Annotate(g.status(), name));
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
