#include "tools/spillway/command/run_command.h"

#include <memory>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "executor/session/session.h"
#include "fmt/format.h"
#include "tools/spillway/command/run_step.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/flags/onnx_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/host_nodes_text.h"
#include "tools/spillway/output/result_json.h"
#include "tools/spillway/output/swap_text.h"
#include "training/safetensors.h"
#include "tuner/prepare_step.h"
#include "tuner/tuned_session.h"

namespace spillway {
namespace {

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

namespace {

// A graph file and its flags, or an ONNX model and its flags.
void AddOnnxRunFlags(FlagSet& set, RunFlags& flags,
                     const std::vector<CLI::Option*>& of_graph) {
  CLI::Option* onnx = set.File("--onnx", flags.onnx,
                               "ONNX model, instead of --graph: inference");
  const std::vector<CLI::Option*> of_onnx = {
      set.File("--feeds", flags.feeds,
               "safetensors file: the model's inputs, and initializers that it "
               "replaces, by name"),
      set.File("--fetches", flags.fetches,
               "write the model's outputs to this file"),
      set.Int("--batch_size", flags.batch_size,
              {.help = "of the inputs, if they are not fed; 0: the model's",
               .max = 1'000'000}),
      AddDimFlag(set, flags.dims)};
  for (CLI::Option* option : of_onnx) option->needs(onnx);
  for (CLI::Option* option : of_graph) option->excludes(onnx);
  set.AtEnd([&flags] {
    if (!flags.onnx.empty()) return;
    if (flags.graph.empty()) Refuse("one of --graph and --onnx is needed");
    if (flags.fetch.empty()) Refuse("--fetch is required");
  });
}

}  // namespace

void AddRunFlags(FlagSet& set, RunFlags& flags) {
  set.BeginGroup("Files");
  const std::vector<CLI::Option*> of_graph = {
      set.File("--graph", flags.graph, "graph file"),
      set.File("--feed", flags.feed,
               "safetensors file: Placeholders, and Variables whose initial "
               "value it replaces, by name"),
      set.List("--fetch", flags.fetch, "values to compute: name:0,..."),
      set.File("--out", flags.out, "write the fetched tensors to this file")};
  AddOnnxRunFlags(set, flags, of_graph);
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
  const bool is_onnx = !flags.onnx.empty();
  Outputs outputs(flags.result, {{"--out", flags.out},
                                 {"--fetches", flags.fetches},
                                 {"--trace", flags.trace}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  OnnxStep loaded;
  if (is_onnx) {
    SPILLWAY_ASSIGN_OR_RETURN(loaded, LoadOnnxStep(flags));
  } else {
    SPILLWAY_ASSIGN_OR_RETURN(loaded.step, LoadGraphStep(flags));
  }
  const RunStep& step = loaded.step;
  SPILLWAY_ASSIGN_OR_RETURN(const RunSetup setup,
                            SetUpRun(flags, step.graph, step.fetches));
  SPILLWAY_RETURN_IF_ERROR(WriteUsedVariables(step.variables, *setup.session));
  Timeline timeline;
  SPILLWAY_ASSIGN_OR_RETURN(
      StepResult result,
      setup.session->Step(0, step.feeds,
                          flags.trace.empty() ? nullptr : &timeline));
  TensorMap fetched;
  for (size_t i = 0; i < step.names.size(); ++i) {
    HostTensor tensor = result.fetched[step.fetches[i]];
    fetched[step.names[i]] =
        is_onnx ? loaded.finish(i, std::move(tensor)) : std::move(tensor);
  }
  outputs.Print(FormatResult(fetched, setup));
  outputs.WriteJson(ToJson(fetched, setup));
  outputs.WriteWith(
      is_onnx ? "--fetches" : "--out",
      [&](const std::string& path) { return WriteSafetensors(path, fetched); });
  outputs.Write("--trace", [&] {
    return FormatChromeTrace({{.name = "measured", .timeline = &timeline}});
  });
  return outputs.Finish();
}

}  // namespace spillway
