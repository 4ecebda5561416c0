#include "tools/spillway/command/run_command.h"

#include <map>
#include <memory>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "executor/session/session.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"
#include "tools/spillway/flags/graph_source.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/host_nodes_text.h"
#include "tools/spillway/output/result_json.h"
#include "tools/spillway/output/swap_text.h"
#include "training/safetensors.h"
#include "tuner/prepare_step.h"
#include "tuner/tuned_session.h"

namespace spillway {
namespace {

// The tensors of --feed, by their use.
struct FeedTensors {
  TensorMap file = {};       // owns the bytes
  Feeds feeds = {};          // of Placeholders
  TensorMap variables = {};  // values that replace the initial ones
};

absl::StatusOr<FeedTensors> ReadFeeds(const std::string& path,
                                      const Graph& graph) {
  FeedTensors tensors;
  if (path.empty()) return tensors;
  SPILLWAY_ASSIGN_OR_RETURN(tensors.file, ReadSafetensors(path));
  for (const auto& [name, tensor] : tensors.file) {
    SPILLWAY_ASSIGN_OR_RETURN(const ValueId value, graph.FindValue(name));
    const Node& node = graph.producer(value);
    if (graph.type(value) != tensor.type) {
      return InvalidArgument(
          fmt::format("{} is {} in the graph but {} in the file", name,
                      graph.type(value).ToString(), tensor.type.ToString()));
    }
    if (node.op == kPlaceholder) {
      tensors.feeds[value] =
          TensorView{.type = tensor.type, .data = tensor.bytes.data()};
    } else if (node.op == kVariable) {
      tensors.variables[node.name] = tensor;
    } else {
      return InvalidArgument(fmt::format(
          "{} is the output of a {}; only Placeholders and Variables are fed",
          name, node.op));
    }
  }
  return tensors;
}

// The session has only the variables that the step uses.
absl::Status WriteUsedVariables(const TensorMap& variables, Session& session) {
  if (variables.empty()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const auto used, session.ReadVariables());
  TensorMap values;
  for (const auto& [name, tensor] : variables) {
    if (used.contains(name)) values[name] = tensor;
  }
  return session.WriteVariables(values);
}

// "float32[2, 3]", and the value of a float32 scalar.
std::string Describe(const HostTensor& tensor) {
  const std::string type = tensor.type.ToString();
  const bool is_real_scalar =
      tensor.type.dtype == DType::kFloat32 && tensor.type.num_elements() == 1;
  return is_real_scalar ? fmt::format("{} = {}", type, *tensor.data<float>())
                        : type;
}

// The session, and what was decided for its step.
struct RunSetup {
  std::unique_ptr<Session> session = {};
  CloneCounts clones = {};
  LmsOptions lms = {};  // the options that were used
  PlacementReport placement = {};
};

std::string FormatResult(const TensorMap& fetched, const RunSetup& setup) {
  std::string text;
  for (const auto& [name, tensor] : fetched) {
    text += fmt::format("{}  {}\n", name, Describe(tensor));
  }
  const MemoryUse memory = setup.session->memory();
  text += fmt::format(
      "device peak  {} bytes predicted, {} measured\n"
      "host peak    {} bytes predicted, {} measured\n",
      memory.predicted_device_bytes, memory.measured_device_bytes,
      memory.predicted_host_bytes, memory.measured_host_bytes);
  const SwapCounts swaps = MeasuredSwaps(*setup.session, 1);
  text += fmt::format("swapped      {} bytes out, {} bytes in ({})\n",
                      swaps.out_bytes, swaps.in_bytes,
                      Counted(swaps.tensors, "tensor"));
  return text + FormatFedAgain(swaps) + FormatClones(setup.clones) +
         FormatHostNodes(setup.placement);
}

Json ToJson(const TensorMap& fetched, const RunSetup& setup) {
  Json fetches = Json::array();
  for (const auto& [name, tensor] : fetched) {
    fetches.push_back({{"name", name},
                       {"dtype", std::string(DTypeName(tensor.type.dtype))},
                       {"shape", tensor.type.shape.dims()}});
  }
  const MemoryUse memory = setup.session->memory();
  Json json = {{"fetches", fetches},
               {"peak_device_bytes", PeakJson(memory.predicted_device_bytes,
                                              memory.measured_device_bytes)},
               {"peak_host_bytes", PeakJson(memory.predicted_host_bytes,
                                            memory.measured_host_bytes)},
               {"swap", SwapJson(MeasuredSwaps(*setup.session, 1))},
               {"recompute", ClonesJson(setup.clones)},
               {"device_allocations_in_steps", memory.allocations_in_steps},
               {"lms", LmsJson(setup.lms)}};
  AddHostNodesJson(setup.placement, json);
  return json;
}

absl::StatusOr<RunSetup> SetUpRun(const RunFlags& flags, const Graph& graph,
                                  const std::vector<ValueId>& fetches) {
  StepOptions step = flags.step;
  step.seed = static_cast<uint64_t>(flags.seed);
  std::vector<Program> programs = {{.graph = graph, .fetches = fetches}};
  SPILLWAY_ASSIGN_OR_RETURN(PlacementReport placement,
                            PlacePrograms(flags.place, step, programs));
  SavedPlan plan;
  SPILLWAY_RETURN_IF_ERROR(
      ReadPlanFlag(flags.plan, programs[0].graph, plan, step));
  SPILLWAY_ASSIGN_OR_RETURN(TunedPrograms tuned,
                            TunePrograms(std::move(programs), step));
  RunSetup setup = {.clones = tuned.steps.front().edit.clones,
                    .lms = tuned.steps.front().lms,
                    .placement = std::move(placement)};
  SPILLWAY_ASSIGN_OR_RETURN(setup.session, OpenSession(std::move(tuned)));
  return setup;
}

}  // namespace

void AddRunFlags(FlagSet& set, RunFlags& flags) {
  set.BeginGroup("Files");
  set.File("--graph", flags.graph, "graph file")->required();
  set.File("--feed", flags.feed,
           "safetensors file: Placeholders, and Variables whose initial value "
           "it replaces, by name");
  set.List("--fetch", flags.fetch, "values to compute: name:0,...")->required();
  set.File("--out", flags.out, "write the fetched tensors to this file");
  set.File("--trace", flags.trace,
           "write the measured timeline as Chrome trace JSON");
  set.BeginGroup("Step");
  set.Int("--seed", flags.seed, {.help = "of initializers and dropout"});
  AddDeviceFlags(set, flags.step);
  AddLinkFlag(set, flags.step);
  AddMemoryFlags(set, flags.step);
  AddPlaceFlag(set, flags.place);
  AddCheckMemoryFlag(set, flags.step);
  AddLmsFlags(set, flags.step.lms);
  AddPlanFlag(set, flags.plan);
  AddProfileFlag(set, flags.step, "device profile for --lms auto");
  AddResultFlags(set, flags.result);
}

absl::Status RunRun(const RunFlags& flags) {
  Outputs outputs(flags.result,
                  {{"--out", flags.out}, {"--trace", flags.trace}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(const Graph graph, LoadGraphFile(flags.graph));
  absl::StatusOr<FeedTensors> tensors = ReadFeeds(flags.feed, graph);
  if (!tensors.ok()) return Annotate(tensors.status(), "--feed");
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<ValueId> fetches,
                            FindFetches(flags.fetch, graph));
  SPILLWAY_ASSIGN_OR_RETURN(const RunSetup setup,
                            SetUpRun(flags, graph, fetches));
  SPILLWAY_RETURN_IF_ERROR(
      WriteUsedVariables(tensors->variables, *setup.session));
  Timeline timeline;
  SPILLWAY_ASSIGN_OR_RETURN(
      StepResult step,
      setup.session->Step(0, tensors->feeds,
                          flags.trace.empty() ? nullptr : &timeline));
  TensorMap fetched;
  for (size_t i = 0; i < flags.fetch.size(); ++i) {
    fetched[flags.fetch[i]] = step.fetched[fetches[i]];
  }
  outputs.Print(FormatResult(fetched, setup));
  outputs.WriteJson(ToJson(fetched, setup));
  outputs.WriteWith("--out", [&](const std::string& path) {
    return WriteSafetensors(path, fetched);
  });
  outputs.Write("--trace", [&] {
    return FormatChromeTrace({{.name = "measured", .timeline = &timeline}});
  });
  return outputs.Finish();
}

}  // namespace spillway
