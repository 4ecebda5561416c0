// Models of the zoo and of ONNX files.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/builder.h"
#include "models/zoo.h"
#include "onnx_model/import.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/graph/numpy_op.h"
#include "python/module/graph/optimizers.h"
#include "python/module/graph/step.h"
#include "python/module/options.h"
#include "python/module/status.h"
#include "training/loop/training_programs.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// What an ONNX model is trained for; a model of the zoo knows.
struct LossChoice {
  std::optional<OnnxLoss> loss = {};
  std::string output = {};  // that the loss takes; empty: the first

  bool is_given() const { return loss.has_value() || !output.empty(); }
};

// A network, before it is known what is done with it.
class Model {
 public:
  virtual ~Model() = default;
  virtual std::string name() const = 0;

  // Appends the forward pass with the loss, for training.
  virtual absl::StatusOr<ForwardPhase> Train(GraphBuilder& g,
                                             const LossChoice& loss) = 0;
  // Appends the forward pass as it runs after training.
  virtual absl::StatusOr<Outputs> Evaluate(GraphBuilder& g) = 0;
  // The batch size of the graph that was appended last.
  virtual int64_t batch_size() const = 0;
  // Adds to a step, once appended, what it has of the model's file.
  virtual void Finish(Step& /*step*/) const {}
};

class ZooModel : public Model {
 public:
  ZooModel(std::string name, const ModelOptions& options)
      : name_(std::move(name)), options_(options) {
    ValueOrThrow(FindModel(name_));
  }
  std::string name() const override { return name_; }

  absl::StatusOr<ForwardPhase> Train(GraphBuilder& g,
                                     const LossChoice& loss) override {
    if (loss.is_given()) {
      return InvalidArgument(
          "loss: a model of the zoo has its own, so it must be None");
    }
    SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph model,
                              Build(g, /*is_training=*/true));
    return ForwardPhase{.images = model.images,
                        .labels = model.labels,
                        .more_fields = model.more_inputs,
                        .loss = model.loss,
                        .accuracy = model.accuracy,
                        .kept = {model.targets}};
  }

  absl::StatusOr<Outputs> Evaluate(GraphBuilder& g) override {
    SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph model,
                              Build(g, /*is_training=*/false));
    return Outputs{{"loss", model.loss},
                   {"accuracy", model.accuracy},
                   {"correct", model.correct},
                   {"logits", model.logits}};
  }

  int64_t batch_size() const override { return batch_size_; }

 private:
  absl::StatusOr<ModelGraph> Build(GraphBuilder& g, bool is_training) {
    ModelOptions options = options_;
    options.is_training = is_training;
    SPILLWAY_ASSIGN_OR_RETURN(ModelGraph model, BuildModel(g, name_, options));
    batch_size_ = model.options.batch_size;
    return model;
  }

  std::string name_;
  ModelOptions options_;
  int64_t batch_size_ = 0;
};

const std::map<std::string, OnnxLoss> kLosses = {
    {"sparse_softmax_cross_entropy", OnnxLoss::kSparseSoftmaxCrossEntropy},
    {"sigmoid_cross_entropy", OnnxLoss::kSigmoidCrossEntropy},
    {"mean_squared_error", OnnxLoss::kMeanSquaredError},
    {"mean_absolute_error", OnnxLoss::kMeanAbsoluteError},
    {"output", OnnxLoss::kOutput}};

class ImportedModel : public Model {
 public:
  ImportedModel(OnnxModel model, std::string name, OnnxImportOptions options)
      : model_(std::make_shared<const OnnxModel>(std::move(model))),
        name_(std::move(name)),
        options_(std::move(options)) {}
  std::string name() const override { return name_; }

  absl::StatusOr<ForwardPhase> Train(GraphBuilder& g,
                                     const LossChoice& loss) override {
    OnnxImportOptions options = options_;
    options.training = OnnxTrainingOptions{.output = loss.output};
    if (loss.loss) options.training->loss = *loss.loss;
    SPILLWAY_ASSIGN_OR_RETURN(network_, model_->AddTo(g, options));
    ForwardPhase phase = {.labels = network_.target, .loss = network_.loss};
    for (const OnnxValue& input : network_.inputs) {
      (phase.images.is_valid() ? phase.more_fields.emplace_back()
                               : phase.images) = input.tensor;
    }
    return phase;
  }

  absl::StatusOr<Outputs> Evaluate(GraphBuilder& g) override {
    OnnxImportOptions options = options_;
    options.batch_norm = OnnxBatchNorm::kFrozen;
    options.dropout = OnnxDropout::kOff;
    options.freeze.clear();
    options.train_only.clear();
    SPILLWAY_ASSIGN_OR_RETURN(network_, model_->AddTo(g, options));
    Outputs outputs;
    for (const OnnxValue& output : network_.outputs) {
      outputs.emplace_back(output.name, output.tensor);
    }
    return outputs;
  }

  int64_t batch_size() const override { return network_.batch_size; }

  void Finish(Step& step) const override {
    step.onnx = model_;
    step.onnx_variables = network_.variables;
  }

 private:
  std::shared_ptr<const OnnxModel> model_;
  std::string name_;
  OnnxImportOptions options_;
  OnnxNetwork network_ = {};
};

StepPtr TrainingStep(Model& model, py::handle loss, py::handle optimizer,
                     const std::string& output, const py::kwargs& arguments) {
  LossChoice choice = {.output = output};
  if (!loss.is_none()) choice.loss = ChoiceOf(loss, kLosses);
  TrainingSettings settings = TrainingSettingsFrom(optimizer, arguments);
  settings.spec.name = model.name();
  settings.spec.forward = [&](GraphBuilder& g, int64_t /*rows*/) {
    return model.Train(g, choice);
  };
  TrainingPrograms programs =
      ValueOrThrow(MakeTrainingPrograms(settings.plan(), settings.spec));
  Step step = TrainingStepOf(model.name(), std::move(programs), /*fetches=*/{},
                             model.batch_size(), settings.accumulate,
                             std::move(settings.workers));
  model.Finish(step);
  return std::make_shared<const Step>(std::move(step));
}

StepPtr EvaluationStep(Model& model, const std::string& passes,
                       const std::string& device) {
  GraphBuilder g(Ops(), model.name() + " evaluation");
  const Outputs outputs = ValueOrThrow(model.Evaluate(g));
  Step step = OptimizedStep(model.name() + " evaluation", std::move(g), outputs,
                            PassesFor(passes, device));
  step.batch_size = model.batch_size();
  model.Finish(step);
  return std::make_shared<const Step>(std::move(step));
}

std::shared_ptr<Model> ZooModelOf(const std::string& name,
                                  const py::kwargs& sizes) {
  ModelOptions options;
  Apply(sizes, {{"batch_size", To(options.batch_size)},
                {"image_size", To(options.image_size)},
                {"channels", To(options.channels)},
                {"num_classes", To(options.num_classes)},
                {"precision",
                 [&](py::handle value) {
                   options.dtype =
                       ParseDTypeOrThrow(py::cast<std::string>(value));
                 }},
                {"auxiliary_head", To(options.auxiliary_head)}});
  return std::make_shared<ZooModel>(name, options);
}

std::shared_ptr<Model> ImportOnnx(const py::object& path,
                                  const py::kwargs& arguments) {
  OnnxImportOptions options = {.batch_norm = OnnxBatchNorm::kTrain,
                               .dropout = OnnxDropout::kOn};
  Apply(arguments,
        {{"batch_size", To(options.batch_size)},
         {"dims", To(options.dims)},
         {"shapes",
          [&](py::handle value) {
            for (auto& [name, dims] :
                 py::cast<std::map<std::string, std::vector<int64_t>>>(value)) {
              options.shapes[name] = ShapeFrom(dims);
            }
          }},
         {"precision",
          [&](py::handle value) {
            options.dtype = ParseDTypeOrThrow(py::cast<std::string>(value));
          }},
         {"batch_norm",
          [&](py::handle value) {
            options.batch_norm = ChoiceOf<OnnxBatchNorm>(
                value, {{"train", OnnxBatchNorm::kTrain},
                        {"frozen", OnnxBatchNorm::kFrozen},
                        {"model", OnnxBatchNorm::kModel}});
          }},
         {"dropout",
          [&](py::handle value) {
            options.dropout =
                ChoiceOf<OnnxDropout>(value, {{"on", OnnxDropout::kOn},
                                              {"off", OnnxDropout::kOff},
                                              {"model", OnnxDropout::kModel}});
          }},
         {"freeze", To(options.freeze)},
         {"train_only", To(options.train_only)},
         {"plan_only", To(options.plan_only)}});
  const std::string file = PathFrom(path);
  const auto name = py::cast<std::string>(
      py::module_::import("os.path").attr("basename")(file));
  OnnxModel model = [&] {
    const py::gil_scoped_release released;
    return ValueOrThrow(OnnxModel::Read(file));
  }();
  return std::make_shared<ImportedModel>(std::move(model), name,
                                         std::move(options));
}

std::vector<std::string> ZooNames() {
  std::vector<std::string> names;
  for (const ModelSpec& spec : Zoo()) names.emplace_back(spec.name);
  return names;
}

}  // namespace

void BindModels(py::module_& module) {
  py::class_<Model, std::shared_ptr<Model>>(
      module, "Model", "A network for one batch size, of which steps are made.")
      .def_property_readonly("name", &Model::name)
      .def("training_step", TrainingStep, py::arg("loss") = py::none(),
           py::arg("optimizer") = "sgd", py::arg("output") = "",
           R"(The step that trains the network: forward, backward, update.

loss: of an ONNX model, "sparse_softmax_cross_entropy" (the default),
    "sigmoid_cross_entropy", "mean_squared_error", "mean_absolute_error" or
    "output" (the first output is the loss). None for a model of the zoo.
optimizer: spillway.Momentum(0.1), say, or a name: "sgd", "momentum", "adam".
output: of an ONNX model, the output that the loss takes; "": the first.

Keyword arguments: weight_decay, clip_norm, clip_value, loss_scale (1),
fused_update (True: each variable is updated as soon as its gradient exists),
freeze (names or scopes of variables that are not trained), feed_learning_rate
(True: each step is fed learning_rate), passes ("auto"), device (for which
passes are chosen).
accumulate=N: an update has the mean gradient of N batches, one after the other;
    a step is fed the rows of all N.
workers=spillway.workers(): each rank has a batch of its own, and an update the
    mean gradient of all ranks. A number: of ranks that are not here, for
    simulate and tune. How they exchange it, as the program's flags
    (docs/workers.md): reduce ("plain", "half", "sparse" or "partial"), wire,
    wire_scale, clip_wire, spars, topk, corr, sync_momentum, full_sync_every,
    bucket_mb, first_bucket_mb, bucket_elements.)")
      .def("evaluation_step", EvaluationStep, py::arg("passes") = "auto",
           py::arg("device") = "",
           "The forward pass as it runs after training: no dropout, and batch "
           "norm with moving averages.")
      .def("__repr__", [](const Model& model) {
        return fmt::format("<spillway.Model {}>", model.name());
      });
  module.def("zoo", ZooModelOf, py::arg("name"),
             R"(A model of the zoo, by name (spillway.zoo_names()).

Keyword arguments: batch_size, image_size, channels, num_classes, precision
("float32" or "bfloat16", of activations), auxiliary_head. Sizes that are not
given are the model's own. Inputs of a step: images, float32 [batch, height,
width, channels], and labels, int32 [batch].)");
  module.def("zoo_names", ZooNames, "The names of all models of the zoo.");
  module.def("import_onnx", ImportOnnx, py::arg("path"),
             R"(The model of an ONNX file (docs/onnx.md).

Keyword arguments: batch_size, dims ({"symbol": size}), shapes ({"input":
shape}), precision, batch_norm ("train", "frozen" or "model"), dropout ("on",
"off" or "model"), freeze and train_only (regular expressions of initializers'
names), plan_only. Inputs of a step have the model's names, shapes and order of
dimensions; of a training step also labels or targets.)");
}

}  // namespace spillway::python
