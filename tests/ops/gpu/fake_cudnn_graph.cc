#include "tests/ops/gpu/fake_cudnn_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/ops/gpu/fake_cudnn.h"
#include "tests/ops/gpu/fake_cudnn_backend.h"
#include "tests/ops/gpu/fake_cudnn_operation.h"

namespace spillway::testing {
namespace {

constexpr size_t kEngineTooLarge = size_t{2} << 30;

// First come engines that must not be used (the last of them: if nothing may be
// rounded to TF32); one engine occurs twice.
std::vector<FakeEngine> Engines() {
  const FakeEngine good = {
      .index = 37,
      .choices = {{CUDNN_KNOB_TYPE_TILE_SIZE, 3}, {CUDNN_KNOB_TYPE_STAGES, 1}}};
  FakeEngine again = good;
  again.mode = CUDNN_HEUR_MODE_FALLBACK;
  const std::vector<FakeEngine> usual = {
      {.index = 11, .notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
      {.index = 12, .notes = {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}},
      {.index = 13,
       .notes = {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}},
      {.index = 14, .plan_status = CUDNN_STATUS_NOT_SUPPORTED_SHAPE},
      {.index = 15, .more_workspace_bytes = kEngineTooLarge},
      {.index = 16, .notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}},
      good,
      {.index = 38,
       .notes = {CUDNN_NUMERICAL_NOTE_WINOGRAD,
                 CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}},
      again,
      {.index = 1,
       .notes = {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP},
       .mode = CUDNN_HEUR_MODE_FALLBACK}};
  return FakeCudnn().engines.value_or(usual);
}

// One of the existing engines.
FakeEngine EngineNumbered(int64_t index) {
  const std::vector<FakeEngine> engines = Engines();
  return *std::ranges::find(engines, index, &FakeEngine::index);
}

bool HasNote(const FakeEngine& engine, cudnnBackendNumericalNote_t note) {
  return std::ranges::count(engine.notes, note) > 0;
}

FakeOperation OperationIn(const FakeBackend& graph) {
  return OperationOf(graph.Child(CUDNN_ATTR_OPERATIONGRAPH_OPS));
}

// Engines compute in one dtype; a filter gradient may also be float32.
bool HasEngines(const FakeOperation& operation) {
  return operation.filter.type == operation.x.tensor.type ||
         (operation.type ==
              CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR &&
          operation.filter.type == CUDNN_DATA_FLOAT);
}

FakeBackendPtr ConfigOf(const FakeEngine& fake, const FakeBackendPtr& graph) {
  const auto engine = std::make_shared<FakeBackend>(FakeBackend{
      .type = CUDNN_BACKEND_ENGINE_DESCRIPTOR, .is_finalized = true});
  engine->PutElements(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph});
  engine->Put(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64,
              std::vector<int64_t>{fake.index});
  engine->Put(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
              fake.notes);
  std::vector<FakeBackendPtr> choices;
  for (const auto& [knob, value] : fake.choices) {
    const auto choice = std::make_shared<FakeBackend>(FakeBackend{
        .type = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, .is_finalized = true});
    choice->Put(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                std::vector{knob});
    choice->Put(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64,
                std::vector<int64_t>{value});
    choices.push_back(choice);
  }
  const auto config = std::make_shared<FakeBackend>(FakeBackend{
      .type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, .is_finalized = true});
  config->PutElements(CUDNN_ATTR_ENGINECFG_ENGINE, {engine});
  config->PutElements(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choices);
  return config;
}

// Like the library, first reports more suggestions than it returns.
void Suggest(FakeBackend& heuristic) {
  const FakeBackendPtr graph =
      heuristic.attributes.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
          .elements.at(0);
  const auto mode =
      heuristic.One<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  std::vector<FakeBackendPtr> configs;
  if (HasEngines(OperationIn(*graph))) {
    for (const FakeEngine& engine : Engines()) {
      if (engine.mode == mode) configs.push_back(ConfigOf(engine, graph));
    }
  }
  heuristic.PutElements(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(configs));
  ++heuristic.attributes[CUDNN_ATTR_ENGINEHEUR_RESULTS].count;
}

const FakeBackend& EngineOf(const FakeBackend& plan) {
  return plan.Child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
      .Child(CUDNN_ATTR_ENGINECFG_ENGINE);
}

FakeEngine FakeEngineOf(const FakeBackend& plan) {
  return EngineNumbered(
      EngineOf(plan).One<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
}

cudnnStatus_t Plan(FakeBackend& plan) {
  ++FakeCudnn().plans;
  const FakeEngine engine = FakeEngineOf(plan);
  const auto bytes = static_cast<int64_t>(FakeCudnn().workspace_bytes +
                                          engine.more_workspace_bytes);
  plan.Put(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
           std::vector<int64_t>{bytes});
  return engine.plan_status;
}

bool IsGoodPack(const FakeBackend& pack) {
  const auto uids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  return uids.size() == pointers.size() &&
         std::ranges::count(pointers, nullptr) == 0;
}

cudnnStatus_t Check(FakeBackend& backend) {
  const auto good_if = [](bool is_good) {
    return is_good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
  };
  switch (backend.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return good_if(IsGoodTensor(backend));
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return good_if(IsGoodConvolution(backend));
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      Suggest(backend);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return Plan(backend);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return good_if(IsGoodPack(backend));
    default:
      return good_if(IsGoodOperation(backend));
  }
}

std::map<int64_t, void*> DataOf(const FakeBackend& pack) {
  const auto uids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void*> data;
  for (size_t i = 0; i < uids.size(); ++i) data[uids[i]] = pointers[i];
  return data;
}

bool IsFinalized(const FakeBackendPtr& backend,
                 cudnnBackendDescriptorType_t type) {
  return backend != nullptr && backend->is_finalized && backend->type == type;
}

}  // namespace

cudnnStatus_t FinalizeFakeBackend(cudnnBackendDescriptor_t descriptor) {
  const std::shared_ptr<FakeBackend> backend = FakeBackendOf(descriptor);
  if (backend == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (FailsBackend("cudnnBackendFinalize", backend->type)) {
    return FakeCudnn().failing_status;
  }
  if (backend->is_finalized || !IsComplete(*backend)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const cudnnStatus_t status = Check(*backend);
  backend->is_finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t ExecuteFakePlan(cudnnHandle_t handle,
                              cudnnBackendDescriptor_t plan_descriptor,
                              cudnnBackendDescriptor_t pack_descriptor) {
  FakeCudnnState& fake = FakeCudnn();
  const std::shared_ptr<FakeBackend> plan = FakeBackendOf(plan_descriptor);
  const std::shared_ptr<FakeBackend> pack = FakeBackendOf(pack_descriptor);
  if (fake.Fails("cudnnBackendExecute") ||
      !IsFinalized(plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) ||
      !IsFinalized(pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) ||
      plan->One<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) != handle) {
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  const FakeEngine engine = FakeEngineOf(*plan);
  void* const workspace = pack->One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto bytes = static_cast<size_t>(
      plan->One<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  if ((bytes > 0 && workspace == nullptr) ||
      (fake.computes_only_deterministically &&
       HasNote(engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))) {
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  const FakeOperation operation =
      OperationIn(EngineOf(*plan).Child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  const std::map<int64_t, void*> data = DataOf(*pack);
  if (!AreOperands(operation, data)) return CUDNN_STATUS_EXECUTION_FAILED;
  fake.handle_number = handle->number;
  fake.engine = engine.index;
  fake.algorithm = -1;
  fake.Queue(handle->stream, [=] {
    Overwrite(workspace, bytes);
    Compute(operation, data);
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace spillway::testing
