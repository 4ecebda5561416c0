#include "ops/gpu/conv/conv_engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/status_macros.h"

namespace spillway {
namespace {

constexpr std::string_view kNamePrefix = "engine ";

bool IsAllowed(cudnnBackendNumericalNote_t note, const ConvEngineRule& rule) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      return !rule.deterministic;
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      return rule.tensor_cores;
    case CUDNN_NUMERICAL_NOTE_FFT:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      return rule.transforms;
    case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
      return true;
    default:  // fewer bits, or unknown here
      return false;
  }
}

// Whether the engine rounds float32 to TF32 although no note says so. Seen on
// an H200 with cuDNN 9.19: filter gradients off by up to 0.5 %.
absl::StatusOr<bool> RoundsUnasked(const GraphDescriptor& engine,
                                   const ConvProblem& problem) {
  if (problem.direction != ConvDirection::kFilterGradient) return false;
  SPILLWAY_ASSIGN_OR_RETURN(
      const int64_t index, engine.Get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  return index == 17;
}

absl::StatusOr<bool> IsAllowed(const GraphDescriptor& engine,
                               const ConvProblem& problem,
                               const ConvEngineRule& rule) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::vector<cudnnBackendNumericalNote_t> notes,
      engine.GetAll<cudnnBackendNumericalNote_t>(
          CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT));
  SPILLWAY_ASSIGN_OR_RETURN(const bool rounds, RoundsUnasked(engine, problem));
  return (rule.tensor_cores || !rounds) &&
         std::ranges::all_of(notes, [&](cudnnBackendNumericalNote_t note) {
           return IsAllowed(note, rule);
         });
}

struct Knob {
  cudnnBackendKnobType_t type = {};
  int64_t value = 0;
};

absl::StatusOr<std::vector<Knob>> KnobsOf(const GraphDescriptor& config) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::vector<GraphDescriptor> choices,
      config.GetDescriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                            CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                            CUDNN_KNOB_TYPE_COUNTS));
  std::vector<Knob> knobs;
  for (const GraphDescriptor& choice : choices) {
    Knob knob;
    SPILLWAY_ASSIGN_OR_RETURN(knob.type, choice.Get<cudnnBackendKnobType_t>(
                                             CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE));
    SPILLWAY_ASSIGN_OR_RETURN(
        knob.value, choice.Get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    knobs.push_back(knob);
  }
  return knobs;
}

absl::StatusOr<std::string> NameOf(const GraphDescriptor& engine,
                                   const std::vector<Knob>& knobs) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const int64_t index, engine.Get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  std::string name = fmt::format("{}{}", kNamePrefix, index);
  for (const Knob& knob : knobs) {
    name += fmt::format(" {}:{}", static_cast<int>(knob.type), knob.value);
  }
  return name;
}

// Whether an engine adds a sum in parts, which it keeps in memory in the dtype
// of its result.
bool AddsInParts(const std::vector<Knob>& knobs) {
  return std::ranges::any_of(knobs, [](const Knob& knob) {
    return (knob.type == CUDNN_KNOB_TYPE_SPLIT_K ||
            knob.type == CUDNN_KNOB_TYPE_SPLIT_K_SLC) &&
           knob.value > 1;
  });
}

DType ResultDType(const ConvProblem& problem) {
  return problem.direction == ConvDirection::kFilterGradient
             ? problem.filter_dtype
             : problem.dtype;
}

// Best first.
absl::StatusOr<std::vector<GraphDescriptor>> SuggestedConfigs(
    const LockedCudnn& cudnn, const GraphDescriptor& graph,
    cudnnBackendHeurMode_t mode) {
  SPILLWAY_ASSIGN_OR_RETURN(
      GraphDescriptor heuristic,
      GraphDescriptor::Create(cudnn.api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  SPILLWAY_RETURN_IF_ERROR(
      heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  SPILLWAY_RETURN_IF_ERROR(heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, mode));
  SPILLWAY_RETURN_IF_ERROR(heuristic.Finalize());
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t count,
      heuristic.CountDescriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS));
  return heuristic.GetDescriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
}

absl::StatusOr<ConvEngine> MakeEngine(const LockedCudnn& cudnn,
                                      std::string name,
                                      GraphDescriptor config) {
  SPILLWAY_ASSIGN_OR_RETURN(
      GraphDescriptor plan,
      GraphDescriptor::Create(cudnn.api,
                              CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  SPILLWAY_RETURN_IF_ERROR(
      plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, cudnn.handle));
  SPILLWAY_RETURN_IF_ERROR(
      plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config));
  SPILLWAY_RETURN_IF_ERROR(plan.Finalize());
  SPILLWAY_ASSIGN_OR_RETURN(
      const int64_t workspace_bytes,
      plan.Get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return ConvEngine{.name = std::move(name),
                    .workspace_bytes = workspace_bytes,
                    .config = std::move(config),
                    .plan = std::move(plan)};
}

// The plans that were made, and the errors of those that cannot be made, by
// key. Used by one thread at a time: the one that holds LockedCudnn. Not
// destroyed when the process ends: the driver may be unloaded by then.
using EngineMap = std::map<std::string, absl::StatusOr<ConvEngine>>;
EngineMap& MadeEngines() {
  static auto& engines = *new EngineMap;
  return engines;
}

// Device and convolution; with an engine's name appended, a key of MadeEngines.
std::string KeyOf(const LockedCudnn& cudnn, const ConvProblem& problem) {
  const ConvGeometry& conv = problem.geometry;
  std::string key = fmt::format(
      "{} {} {} {} {} {} {} {}", fmt::ptr(cudnn.handle),
      static_cast<int>(problem.direction), static_cast<int>(problem.dtype),
      static_cast<int>(problem.filter_dtype), conv.batch, conv.in_channels,
      conv.out_channels, conv.groups);
  for (const WindowDim& dim : conv.window) {
    key += fmt::format(" {} {} {} {} {} {}", dim.input, dim.output, dim.size,
                       dim.stride, dim.dilation, dim.pad_before);
  }
  return key;
}

class Search {
 public:
  Search(const LockedCudnn& cudnn, const ConvProblem& problem,
         const ConvEngineRule& rule, const ConvWanted& wanted)
      : cudnn_(cudnn),
        key_(KeyOf(cudnn, problem)),
        problem_(problem),
        rule_(rule),
        wanted_(wanted) {}

  // Tries suggestions until all wanted engines are found.
  absl::Status Look(const GraphDescriptor& graph, cudnnBackendHeurMode_t mode) {
    if (is_done()) return absl::OkStatus();
    SPILLWAY_ASSIGN_OR_RETURN(std::vector<GraphDescriptor> configs,
                              SuggestedConfigs(cudnn_, graph, mode));
    for (GraphDescriptor& config : configs) {
      if (is_done()) break;
      absl::Status status = Try(std::move(config));
      if (absl::IsResourceExhausted(status)) return status;
    }
    return absl::OkStatus();
  }

  const std::vector<const ConvEngine*>& found() const { return found_; }

 private:
  bool is_done() const { return found_.size() == wanted_.most; }

  // Keeps the engine if it is wanted, allowed and works.
  absl::Status Try(GraphDescriptor config) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const GraphDescriptor engine,
        config.GetDescriptor(CUDNN_ATTR_ENGINECFG_ENGINE,
                             CUDNN_BACKEND_ENGINE_DESCRIPTOR));
    SPILLWAY_ASSIGN_OR_RETURN(const bool is_allowed,
                              IsAllowed(engine, problem_, rule_));
    if (!is_allowed) return absl::OkStatus();
    SPILLWAY_ASSIGN_OR_RETURN(const std::vector<Knob> knobs, KnobsOf(config));
    if (AddsInParts(knobs) && ResultDType(problem_) != DType::kFloat32) {
      return absl::OkStatus();
    }
    SPILLWAY_ASSIGN_OR_RETURN(const std::string name, NameOf(engine, knobs));
    if (!wanted_.name.empty() && name != wanted_.name) return absl::OkStatus();
    if (!seen_.insert(name).second) return absl::OkStatus();
    SPILLWAY_ASSIGN_OR_RETURN(const ConvEngine* made,
                              Made(name, std::move(config)));
    if (made->workspace_bytes <= rule_.most_workspace_bytes) {
      found_.push_back(made);
    }
    return absl::OkStatus();
  }

  // Makes the engine unless that was tried before. A lack of memory is not
  // remembered, since memory may be free the next time.
  absl::StatusOr<const ConvEngine*> Made(const std::string& name,
                                         GraphDescriptor config) {
    const std::string key = fmt::format("{} {}", key_, name);
    EngineMap& engines = MadeEngines();
    auto known = engines.find(key);
    if (known == engines.end()) {
      absl::StatusOr<ConvEngine> made =
          MakeEngine(cudnn_, name, std::move(config));
      if (absl::IsResourceExhausted(made.status())) return made.status();
      known = engines.emplace(key, std::move(made)).first;
    }
    SPILLWAY_RETURN_IF_ERROR(known->second.status());
    return &*known->second;
  }

  const LockedCudnn& cudnn_;
  const std::string key_;
  const ConvProblem& problem_;
  const ConvEngineRule& rule_;
  const ConvWanted& wanted_;
  std::set<std::string> seen_;
  std::vector<const ConvEngine*> found_;
};

}  // namespace

absl::StatusOr<std::vector<const ConvEngine*>> FindConvEngines(
    const LockedCudnn& cudnn, const ConvProblem& problem,
    const ConvEngineRule& rule, const ConvWanted& wanted) {
  if (!wanted.name.empty() && !wanted.name.starts_with(kNamePrefix)) {
    return std::vector<const ConvEngine*>();
  }
  SPILLWAY_ASSIGN_OR_RETURN(const ConvGraph graph,
                            MakeConvGraph(cudnn, problem));
  Search search(cudnn, problem, rule, wanted);
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    // A heuristic that does not support the graph suggests nothing.
    absl::Status status = search.Look(graph.graph, mode);
    if (absl::IsResourceExhausted(status)) return status;
  }
  return search.found();
}

void ForgetConvEnginesForTest() { MadeEngines().clear(); }

}  // namespace spillway
