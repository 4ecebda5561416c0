#include "tools/spillway/command/train_setup.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/session/plan_programs.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"
#include "tools/spillway/model_graph.h"
#include "tools/spillway/output/result_json.h"
#include "training/checkpoint.h"
#include "training/data/cifar10.h"
#include "training/data/mnist.h"
#include "tuner/choose_step.h"

namespace spillway {
namespace {

using OpenedData = absl::StatusOr<std::unique_ptr<ImageDataset>>;

template <typename Data>
OpenedData Open(const std::string& folder, Split split) {
  return Data::Open(folder, split);
}

struct DataSource {
  std::string_view name;
  OpenedData (*open)(const std::string& folder, Split split) = nullptr;
  std::string_view default_dir = {};  // empty: no default
};

constexpr std::array<DataSource, 3> kSources = {{
    {"cifar10", Open<Cifar10>},
    // The folder of Debian's package dataset-fashion-mnist.
    {"fashion_mnist", Open<Mnist>, "/usr/share/datasets/fashion-mnist"},
    {"mnist", Open<Mnist>},
}};

const DataSource& SourceOf(const TrainFlags& flags) {
  return *std::ranges::find(kSources, flags.data, &DataSource::name);
}

absl::StatusOr<std::string> DataFolder(const TrainFlags& flags) {
  if (!flags.data_dir.empty()) return flags.data_dir;
  const std::string_view default_dir = SourceOf(flags).default_dir;
  if (!default_dir.empty()) return std::string(default_dir);
  return InvalidArgument(
      fmt::format("--data_dir: --data {} has no default folder", flags.data));
}

absl::Status OpenData(const TrainFlags& flags, TrainSetup& setup) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string folder, DataFolder(flags));
  OpenedData training = SourceOf(flags).open(folder, Split::kTrain);
  if (!training.ok()) return Annotate(training.status(), "--data_dir");
  OpenedData test = SourceOf(flags).open(folder, Split::kTest);
  if (!test.ok()) return Annotate(test.status(), "--data_dir");
  setup.training_data = *std::move(training);
  setup.test_data = *std::move(test);
  return absl::OkStatus();
}

// The model, with the sizes of the data.
absl::StatusOr<ModelGraphSpec> SpecFor(const TrainFlags& flags,
                                       const ImageDataset& data) {
  const Shape& image = data.fields()[0].shape;
  const int64_t size = flags.model.image_size;
  if (image.dim(0) != image.dim(1)) {
    return InvalidArgument(fmt::format(
        "--data_dir: images of {} are not square", image.ToString()));
  }
  if (size != 0 && size != image.dim(0)) {
    return InvalidArgument(fmt::format(
        "--image_size: {} does not fit --data {}, whose images are {} x {}",
        size, flags.data, image.dim(0), image.dim(1)));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const PassTarget target, PassTargetOf(flags.step));
  ModelGraphSpec spec = SpecOf(flags.model, target);
  spec.options.image_size = image.dim(0);
  spec.options.channels = image.dim(2);
  spec.options.num_classes = data.num_classes();
  return spec;
}

absl::Status CheckBatch(const ModelGraph& model, const ImageDataset& data) {
  const int64_t batch = model.options.batch_size;
  if (batch <= data.size()) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("--batch_size: a batch of {} is more than the {}", batch,
                  Counted(data.size(), "training image")));
}

// These data sets have one label per image.
absl::Status CheckLabels(const std::string& name, const StepGraph& step) {
  const Shape& labels = step.graph.type(step.model.labels.id()).shape;
  if (labels.rank() == 1) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "--model: {} learns labels of shape {}; --data has one label an image",
      name, labels.ToString()));
}

// Bytes of a step's values, without those that outlive the step.
int64_t TransientBytes(const PlannedPrograms& planned) {
  const ExecutionPlan& plan = planned.programs[0].plan;
  return plan.device_bytes - plan.resident_bytes;
}

Program EvaluationProgramOf(const StepGraph& step) {
  return {.graph = step.graph, .fetches = {step.model.correct.id()}};
}

absl::StatusOr<PlannedPrograms> PlanOne(Program program, DeviceKind kind,
                                        const SessionOptions& options) {
  std::vector<Program> programs;
  programs.push_back(std::move(program));
  return PlanPrograms(std::move(programs), kind, options);
}

// The evaluation graph with the largest batch that needs at most `room_bytes`.
absl::StatusOr<StepGraph> FitEvaluation(ModelGraphSpec spec, int64_t room_bytes,
                                        DeviceKind kind,
                                        SessionOptions options) {
  options.device_memory.reset();
  while (true) {
    SPILLWAY_ASSIGN_OR_RETURN(StepGraph step, BuildEvaluationGraph(spec));
    SPILLWAY_ASSIGN_OR_RETURN(
        const PlannedPrograms planned,
        PlanOne(EvaluationProgramOf(step), kind, options));
    const int64_t batch = step.model.options.batch_size;
    if (TransientBytes(planned) <= room_bytes || batch == 1) return step;
    spec.options.batch_size = batch / 2;
  }
}

// Device bytes of the evaluation graph's constants. The session keeps them for
// its lifetime, also during training steps.
absl::StatusOr<int64_t> EvaluationConstants(const ModelGraphSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(const StepGraph step, BuildEvaluationGraph(spec));
  int64_t bytes = 0;
  for (const Node& node : step.graph.nodes()) {
    if (node.op != kConst) continue;
    bytes +=
        AlignUp(step.graph.type(node.outputs[0]).num_bytes(), kBufferAlignment);
  }
  return bytes;
}

absl::Status MakeSession(const ModelGraphSpec& spec, const Program& training,
                         std::unique_ptr<Device> device, TrainSetup& setup) {
  const SessionOptions options = SessionOptionsOf(setup.options);
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(const PlannedPrograms planned,
                            PlanOne(training, device->kind(), options));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  setup.plan_ns = taken.count();
  SPILLWAY_ASSIGN_OR_RETURN(
      const StepGraph evaluation,
      FitEvaluation(spec, TransientBytes(planned), device->kind(), options));
  setup.evaluation = evaluation.model;
  setup.device = device->name();
  std::vector<Program> programs;
  programs.push_back(training);
  programs.push_back(EvaluationProgramOf(evaluation));
  SPILLWAY_ASSIGN_OR_RETURN(
      setup.session,
      Session::Create(std::move(programs), std::move(device), options));
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> DataNames() {
  std::vector<std::string> names;
  for (const DataSource& source : kSources) names.emplace_back(source.name);
  return names;
}

absl::StatusOr<TrainSetup> SetUpTraining(const TrainFlags& flags) {
  TrainSetup setup;
  SPILLWAY_RETURN_IF_ERROR(CheckPrecision(flags.model, flags.step));
  SPILLWAY_RETURN_IF_ERROR(OpenData(flags, setup));
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraphSpec spec,
                            SpecFor(flags, *setup.training_data));
  absl::StatusOr<StepGraph> training =
      BuildTrainingGraph(spec, flags.optimizer);
  if (!training.ok()) return Annotate(training.status(), "--model");
  SPILLWAY_RETURN_IF_ERROR(CheckLabels(flags.model.model, *training));
  SPILLWAY_RETURN_IF_ERROR(CheckBatch(training->model, *setup.training_data));
  setup.training = training->model;
  setup.learning_rate = training->learning_rate;
  setup.base_rate = training->base_rate;
  setup.loss_scale = training->loss_scale;
  setup.parameters = CountParameters(training->graph);
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t reserved, EvaluationConstants(spec));
  StepOptions options = flags.step;
  options.seed = static_cast<uint64_t>(flags.seed);
  SavedPlan plan;
  SPILLWAY_RETURN_IF_ERROR(
      ReadPlanFlag(flags.plan, training->graph, plan, options));
  SPILLWAY_ASSIGN_OR_RETURN(
      ChosenStep chosen, ChooseStep({.graph = &training->graph,
                                     .fetches = {training->model.loss.id(),
                                                 training->model.accuracy.id()},
                                     .options = options,
                                     .reserved_bytes = reserved}));
  setup.edit = chosen.edit;
  setup.lms = chosen.lms;
  setup.options = chosen.options;
  setup.algorithms_digest = AlgorithmsDigest(chosen.algorithms, chosen.graph);
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            OpenDevice(setup.options, chosen.device_limit));
  SPILLWAY_RETURN_IF_ERROR(MakeSession(spec, ProgramOf(std::move(chosen)),
                                       std::move(device), setup));
  if (!flags.restore.empty()) {
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(LoadCheckpoint(flags.restore, *setup.session), "--restore"));
  }
  return setup;
}

}  // namespace spillway
