#include "tools/spillway/command/train_setup.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/counted.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "comm/communicator.h"
#include "executor/session/plan_programs.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"
#include "onnx_model/training_data.h"
#include "ops/all_ops.h"
#include "tools/spillway/output/onnx_json.h"
#include "tools/spillway/output/result_json.h"
#include "training/checkpoint.h"
#include "tuner/tuned_session.h"

namespace spillway {
namespace {

// The sizes of images that `known` is to learn from.
absl::Status CheckImages(const TrainFlags& flags, const ModelSpec& known,
                         const Shape& image) {
  const int64_t size = flags.model.image_size;
  if (image.rank() != 3) {
    return InvalidArgument(fmt::format("--data: {} has texts; {} reads images",
                                       flags.data, known.name));
  }
  if (image.dim(0) != image.dim(1)) {
    return InvalidArgument(fmt::format(
        "--data_dir: images of {} are not square", image.ToString()));
  }
  if (size == 0 || size == image.dim(0)) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "--image_size: {} does not fit --data {}, whose images are {} x {}", size,
      flags.data, image.dim(0), image.dim(1)));
}

// The same of texts. Sequences have the length that was asked for.
absl::Status CheckTexts(const TrainFlags& flags, const ModelSpec& known,
                        const Shape& sequence) {
  if (sequence.rank() == 1) return absl::OkStatus();
  return InvalidArgument(fmt::format("--data: {} has images; {} reads texts",
                                     flags.data, known.name));
}

// The model, with the sizes of the data.
absl::StatusOr<ModelGraphSpec> ModelFor(const TrainFlags& flags,
                                        const ModelSpec& known,
                                        const LabelledDataset& data) {
  const Shape& sample = data.fields()[0].shape;
  SPILLWAY_RETURN_IF_ERROR(known.reads_tokens
                               ? CheckTexts(flags, known, sample)
                               : CheckImages(flags, known, sample));
  SPILLWAY_ASSIGN_OR_RETURN(const PassTarget target, PassTargetOf(flags.step));
  SPILLWAY_ASSIGN_OR_RETURN(ModelGraphSpec spec, SpecOf(flags.model, target));
  if (spec.options.batch_size == 0) {
    spec.options.batch_size = known.default_batch_size;
  }
  spec.options.image_size = sample.dim(0);
  if (!known.reads_tokens) spec.options.channels = sample.dim(2);
  spec.options.num_classes = data.num_classes();
  return spec;
}

absl::Status CheckBatch(int64_t batch, int64_t rows) {
  if (batch <= rows) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("--batch_size: a batch of {} is more than the {}", batch,
                  Counted(rows, "training sample")));
}

// With lbsgd, an update takes batch_scale batches.
absl::Status SetLargeBatch(int64_t rows, int64_t batch, TrainFlags& flags) {
  if (flags.optimizer.optimizer != "lbsgd") return absl::OkStatus();
  LargeBatchWarmUp& large = flags.rate.large_batch;
  if (flags.rate.macrobatch_size > 0) {
    large.batch_scale = (flags.rate.macrobatch_size + batch - 1) / batch;
    spdlog::info("--macrobatch_size: an update takes {} of {}",
                 Counted(large.batch_scale, "batch", "batches"), batch);
  }
  large.updates_per_epoch = flags.rate.updates_per_epoch > 0
                                ? flags.rate.updates_per_epoch
                                : (rows + batch - 1) / batch;
  flags.optimizer.has_ratios = large.strategy == WarmUpStrategy::kLars;
  if (large.batch_scale == 1) return absl::OkStatus();
  LoopFlags& loop = flags.loop;
  if (!loop.has_groups() && loop.train_algo != "minibatch") {
    return InvalidArgument(fmt::format(
        "--train_algo: an update of lbsgd takes {} batches, not those of {}",
        large.batch_scale, loop.train_algo));
  }
  if (loop.has_groups() && loop.parallel_batches != large.batch_scale) {
    return InvalidArgument(fmt::format(
        "--parallel_batches: an update of lbsgd takes --batch_scale ({}) "
        "batches, not {}; leave one of the flags out",
        large.batch_scale, loop.parallel_batches));
  }
  if (!loop.has_groups()) loop.train_algo = "looped_minibatch";
  loop.parallel_batches = large.batch_scale;
  return absl::OkStatus();
}

absl::Status CheckLabels(const TrainFlags& flags, const TrainData& data,
                         const GraphBuilder& g, const ModelGraph& model) {
  const Shape& learned = g.graph().type(model.labels.id()).shape;
  const Shape given =
      FieldsOfRows(*data.training, model.options.batch_size)[1].shape;
  if (learned == given) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "--model: {} learns labels of shape {}; those of --data {} have {}",
      flags.model.model, learned.ToString(), flags.data, given.ToString()));
}

absl::StatusOr<TrainingPrograms> MakePrograms(const TrainFlags& flags,
                                              const Communicator* communicator,
                                              TrainSetup& setup) {
  const TrainLoop& loop = *setup.loop;
  SPILLWAY_ASSIGN_OR_RETURN(TrainingProgramsSpec spec,
                            ProgramsSpecOf(loop.model, loop.flags));
  if (communicator != nullptr) spec.worker = communicator->rank();
  spec.forward = [&](GraphBuilder& g,
                     int64_t rows) -> absl::StatusOr<ForwardPhase> {
    ModelGraphSpec of_rows = loop.model;
    of_rows.options.batch_size = rows;
    const absl::StatusOr<ModelGraph> model = BuildNetwork(g, of_rows);
    if (!model.ok()) return Annotate(model.status(), SourceFlagOf(flags.model));
    if (!flags.model.onnx.is_given()) {
      SPILLWAY_RETURN_IF_ERROR(CheckLabels(flags, loop.data, g, *model));
    }
    if (setup.parameters == 0) {
      setup.model = model->options;
      setup.parameters = CountParameters(g.graph());
    }
    return ForwardPhaseOf(*model);
  };
  spec.minimize.fused_update = flags.loop.fused_update;
  setup.loss_scale = spec.minimize.loss_scale;
  spec.feeds_learning_rate = static_cast<bool>(loop.rate);
  spec.checks_gradients = flags.loop.check_finite;
  spec.feeds_loss_scale = flags.optimizer.loss_scale.is_dynamic;
  spec.buckets = flags.workers.exchange.buckets;
  spec.wire = WireOf(flags.workers.exchange);
  spec.sparse = SparseOf(flags.workers.exchange);
  spec.partial = PartialOf(flags.workers.exchange);
  spec.edit = [&](Graph& graph) {
    return Annotate(SetInitializers(flags.initializer, graph), "--initializer");
  };
  return MakeTrainingPrograms(*loop.plan, spec);
}

// The forward phase as it runs after training.
struct Evaluation {
  Program program = {};
  EvaluationProgram ids = {};
};

absl::StatusOr<Evaluation> BuildEvaluation(ModelGraphSpec spec, int64_t top_k,
                                           int64_t batch) {
  spec.options.batch_size = batch;
  SPILLWAY_ASSIGN_OR_RETURN(StepGraph step, BuildEvaluationGraph(spec, top_k));
  const ModelGraph& model = step.model;
  Evaluation evaluation = {
      .program = {.graph = std::move(step.graph),
                  .fetches = {model.correct.id(), model.loss.id()}},
      .ids = {.batch_size = batch,
              .images = model.images.id(),
              .labels = model.labels.id(),
              .correct = model.correct.id(),
              .in_top_k = step.in_top_k.id(),
              .loss = model.loss.id()}};
  if (step.in_top_k.is_valid()) {
    evaluation.program.fetches.push_back(step.in_top_k.id());
  }
  return evaluation;
}

int64_t TopK(const TrainFlags& flags, const TrainLoop& loop) {
  const int64_t classes = loop.model.options.num_classes;
  if (flags.loop.top_k > classes) {
    spdlog::info("--top_k: there are only {}",
                 Counted(classes, "class", "classes"));
  }
  return std::min(flags.loop.top_k, classes);
}

// Bytes of the steps' values, at most, without those that outlive a step.
int64_t TransientBytes(const PlannedPrograms& planned) {
  int64_t most = 0;
  for (const PlannedProgram& program : planned.programs) {
    most =
        std::max(most, program.plan.device_bytes - program.plan.resident_bytes);
  }
  return most;
}

// Where an evaluation runs, and beside what.
struct EvaluationRoom {
  DeviceKind kind = DeviceKind::kCpu;
  int64_t bytes = 0;         // for the values of its steps
  int64_t device_bytes = 0;  // with all that outlives them
  PlaceMode place = PlaceMode::kOff;
  std::vector<std::string> host_variables = {};
};

// The evaluation with the largest batch, up to `batch`, that fits.
absl::StatusOr<Evaluation> FitEvaluation(const ModelGraphSpec& spec,
                                         int64_t top_k, int64_t batch,
                                         const EvaluationRoom& room,
                                         const StepOptions& step) {
  StepOptions within = step;
  within.device_memory = room.device_bytes;
  SessionOptions options = SessionOptionsOf(step);
  options.device_memory.reset();
  while (true) {
    SPILLWAY_ASSIGN_OR_RETURN(Evaluation evaluation,
                              BuildEvaluation(spec, top_k, batch));
    SPILLWAY_RETURN_IF_ERROR(PlaceProgram(room.place, within,
                                          evaluation.program,
                                          room.host_variables)
                                 .status());
    std::vector<Program> programs;
    programs.push_back(evaluation.program);
    SPILLWAY_ASSIGN_OR_RETURN(
        const PlannedPrograms planned,
        PlanPrograms(std::move(programs), room.kind, options));
    if (TransientBytes(planned) <= room.bytes || batch == 1) return evaluation;
    batch /= 2;
  }
}

// The smallest of all ranks, which evaluate together.
absl::StatusOr<int64_t> AgreedBatch(int64_t batch,
                                    const SessionOptions& options) {
  if (options.communicator == nullptr) return batch;
  SPILLWAY_RETURN_IF_ERROR(options.communicator->AllReduce(
      &batch, 1, DType::kInt64, ReduceOp::kMin));
  return batch;
}

// The decisions for the programs of the training. An evaluation of one row is
// among them: its constants live on the device during training steps too.
absl::StatusOr<TunedPrograms> TuneTraining(const TrainFlags& flags,
                                           const TrainLoop& loop,
                                           const TrainingPrograms& made,
                                           Communicator* communicator,
                                           PlacementReport& placement) {
  StepOptions options = flags.step;
  options.communicator = communicator;
  options.seed = static_cast<uint64_t>(flags.seed);
  options.own_variables = made.own_variables;
  std::vector<Program> programs = made.programs;
  const bool evaluates = loop.test_data() != nullptr;
  if (evaluates) {
    SPILLWAY_ASSIGN_OR_RETURN(Evaluation evaluation,
                              BuildEvaluation(loop.model, 0, 1));
    programs.push_back(std::move(evaluation.program));
  }
  SPILLWAY_ASSIGN_OR_RETURN(placement,
                            PlacePrograms(flags.place, options, programs));
  // Those of the evaluation of one row.
  if (evaluates) placement.nodes.pop_back();
  SavedPlan plan;
  SPILLWAY_RETURN_IF_ERROR(
      ReadPlanFlag(flags.plan, programs[0].graph, plan, options));
  SPILLWAY_ASSIGN_OR_RETURN(TunedPrograms tuned,
                            TunePrograms(std::move(programs), options));
  if (evaluates) tuned.steps.pop_back();
  return tuned;
}

// Of the update of the largest micro-batches.
std::vector<int64_t> BucketBytes(const TrainingPrograms& made) {
  const size_t program =
      made.update ? static_cast<size_t>(made.update->program) : 0;
  const Graph& graph = made.programs[program].graph;
  std::vector<int64_t> buckets;
  for (const Node& node : graph.nodes()) {
    if (!IsCollective(node.op)) continue;
    int64_t bytes = 0;
    for (const ValueId output : node.outputs) {
      bytes += graph.type(output).num_bytes();
    }
    buckets.push_back(bytes);
  }
  return buckets;
}

// The evaluation as one more program; its batch is one that fits.
absl::Status AddEvaluation(const TrainFlags& flags,
                           const PlannedPrograms& planned, DeviceKind kind,
                           std::vector<Program>& programs, TrainSetup& setup) {
  const TrainLoop& loop = *setup.loop;
  const SessionOptions options = SessionOptionsOf(setup.options);
  const Dataset& tested = loop.validation
                              ? static_cast<const Dataset&>(*loop.validation)
                              : *loop.test_data();
  const EvaluationRoom room = {.kind = kind,
                               .bytes = TransientBytes(planned),
                               .device_bytes = planned.device_bytes,
                               .place = flags.place,
                               .host_variables = setup.placement.variables};
  const auto fit = [&](int64_t batch) {
    return FitEvaluation(loop.model, TopK(flags, loop), batch, room,
                         setup.options);
  };
  SPILLWAY_ASSIGN_OR_RETURN(
      Evaluation evaluation,
      fit(EvaluationBatch(flags.loop, loop.model.options.batch_size,
                          tested.size())));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t agreed,
                            AgreedBatch(evaluation.ids.batch_size, options));
  if (agreed < evaluation.ids.batch_size) {
    SPILLWAY_ASSIGN_OR_RETURN(evaluation, fit(agreed));
  }
  setup.spec.evaluation = evaluation.ids;
  setup.spec.evaluation.program = static_cast<int>(programs.size());
  programs.push_back(std::move(evaluation.program));
  return absl::OkStatus();
}

absl::Status OpenTraining(const TrainFlags& flags, TunedPrograms tuned,
                          TrainSetup& setup) {
  const TrainLoop& loop = *setup.loop;
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            OpenDevice(setup.options, tuned.device_limit));
  setup.device = device->name();
  std::vector<Program> programs;
  for (ChosenStep& step : tuned.steps) {
    programs.push_back(ProgramOf(std::move(step)));
  }
  const SessionOptions options = SessionOptionsOf(setup.options);
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(const PlannedPrograms planned,
                            PlanPrograms(programs, device->kind(), options));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  setup.plan_ns = taken.count();
  if (loop.test_data() != nullptr) {
    SPILLWAY_RETURN_IF_ERROR(
        AddEvaluation(flags, planned, device->kind(), programs, setup));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      setup.session,
      Session::Create(std::move(programs), std::move(device), options));
  return Annotate(WriteInitialValues(loop.model, loop.onnx, *setup.session),
                  "--onnx");
}

}  // namespace

namespace {

// Data and model of the zoo.
absl::Status OpenZooData(const TrainFlags& flags, TrainLoop& loop) {
  const absl::StatusOr<ModelSpec> known = FindModel(flags.model.model);
  if (!known.ok()) return Annotate(known.status(), "--model");
  SPILLWAY_ASSIGN_OR_RETURN(
      loop.data, OpenTrainData({.name = flags.data,
                                .folder = flags.data_dir,
                                .size = flags.model.image_size != 0
                                            ? flags.model.image_size
                                            : known->default_image_size,
                                .seed = static_cast<uint64_t>(flags.seed),
                                .skip_corrupt = flags.skip_corrupt}));
  const LabelledDataset& data = *loop.data.training;
  SPILLWAY_ASSIGN_OR_RETURN(loop.model, ModelFor(flags, *known, data));
  if (flags.loop.test_iter == 0) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(
      const int64_t rows,
      ValidationRows(flags.loop, data.size(), loop.model.options.batch_size));
  loop.validation.emplace(data, 0, rows);
  loop.trained.emplace(data, rows, data.size());
  return absl::OkStatus();
}

// A model in an ONNX file, and the file with its data.
absl::Status OpenOnnxData(const TrainFlags& flags, TrainLoop& loop) {
  if (flags.loop.test_iter > 0) {
    return InvalidArgument(
        "--test_iter: a model in an ONNX file is not evaluated");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const PassTarget target, PassTargetOf(flags.step));
  absl::StatusOr<ModelGraphSpec> spec = SpecOf(flags.model, target);
  if (!spec.ok()) return Annotate(spec.status(), "--onnx");
  loop.model = *std::move(spec);
  GraphBuilder g(StandardOps(), loop.model.model);
  const absl::StatusOr<ModelGraph> model =
      BuildNetwork(g, loop.model, &loop.onnx);
  if (!model.ok()) return Annotate(model.status(), "--onnx");
  loop.model.options.batch_size = loop.onnx.batch_size;
  loop.transposes = CountTransposes(g.graph());
  LogNotes(loop.onnx.notes);
  absl::StatusOr<std::unique_ptr<OnnxTrainingData>> data =
      OnnxTrainingData::Open(flags.data_file, loop.onnx, flags.target);
  if (!data.ok()) return Annotate(data.status(), "--data_file");
  loop.tensors = *std::move(data);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainLoop>> SetUpLoop(const TrainFlags& given,
                                                     int world_size) {
  TrainFlags flags = given;
  auto loop = std::make_unique<TrainLoop>();
  SPILLWAY_RETURN_IF_ERROR(CheckPrecision(flags.model, flags.step));
  SPILLWAY_RETURN_IF_ERROR(flags.model.onnx.is_given()
                               ? OpenOnnxData(flags, *loop)
                               : OpenZooData(flags, *loop));
  const int64_t batch = loop->model.options.batch_size;
  const int64_t rows = loop->rows().size();
  if (flags.loop.train_algo != "batch") {
    SPILLWAY_RETURN_IF_ERROR(CheckBatch(batch, rows));
  }
  SPILLWAY_RETURN_IF_ERROR(SetLargeBatch(rows, batch, flags));
  SPILLWAY_ASSIGN_OR_RETURN(const Optimizer optimizer,
                            MakeOptimizer(flags.optimizer));
  MicroBatchSpec read = RowsOf(flags.loop, rows, batch);
  read.world_size = world_size;
  read.loads = flags.workers.loads;
  read.split = flags.workers.split;
  read.tail = TailOf(flags.workers, read.tail);
  SPILLWAY_ASSIGN_OR_RETURN(loop->plan, PlanOf(read));
  // With the effective rate of so many ranks.
  loop->flags = flags.optimizer;
  loop->flags.learning_rate =
      LearningRate(optimizer) * RateScale(flags.workers, world_size);
  SPILLWAY_ASSIGN_OR_RETURN(loop->num_updates,
                            loop->plan->Updates(LengthOf(flags.loop)));
  loop->base_rate = *loop->flags.learning_rate;
  SPILLWAY_ASSIGN_OR_RETURN(
      loop->rate,
      MakeRate(flags.rate, loop->base_rate, *loop->plan, loop->num_updates));
  return loop;
}

absl::StatusOr<TrainSetup> SetUpTraining(const TrainFlags& flags,
                                         std::shared_ptr<const TrainLoop> loop,
                                         Communicator* communicator) {
  TrainSetup setup;
  setup.loop = std::move(loop);
  SPILLWAY_ASSIGN_OR_RETURN(const TrainingPrograms made,
                            MakePrograms(flags, communicator, setup));
  setup.spec = made.SpecFor(*setup.loop->plan, setup.loop->rows());
  setup.spec.communicator = communicator;
  setup.spec.init_sync = flags.workers.init_sync;
  setup.spec.check_replicas = flags.workers.check_replicas;
  setup.bucket_bytes = BucketBytes(made);
  SPILLWAY_ASSIGN_OR_RETURN(
      TunedPrograms tuned,
      TuneTraining(flags, *setup.loop, made, communicator, setup.placement));
  const ChosenStep& critical = tuned.steps[tuned.critical];
  setup.edit = critical.edit;
  setup.lms = critical.lms;
  setup.options = tuned.options;
  setup.algorithms_digest =
      AlgorithmsDigest(critical.algorithms, critical.graph);
  SPILLWAY_RETURN_IF_ERROR(OpenTraining(flags, std::move(tuned), setup));
  if (!flags.restore.empty()) {
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(LoadVariables(flags.restore, *setup.session), "--restore"));
  }
  return setup;
}

}  // namespace spillway
