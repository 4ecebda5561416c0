#include "python/module/planning/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "pybind11/stl.h"
#include "python/module/callbacks.h"
#include "python/module/options.h"
#include "python/module/planning/what_if.h"
#include "python/module/status.h"
#include "simulator/memory_over_time.h"
#include "tuner/placement/place_programs.h"
#include "tuner/simulate.h"
#include "tuner/step_report.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// A result of simulate, with the step.
struct Prediction {
  StepPtr step = {};
  StepPrediction result = {};  // without Step::update_bytes
};

double ImagesPerSecond(const Step& step, int64_t step_ns) {
  return step_ns == 0 ? 0
                      : 1e9 * static_cast<double>(step.batch_size) /
                            static_cast<double>(step_ns);
}

std::string NodeName(const Graph& graph, NodeId id) {
  return id.is_valid() ? graph.node(id).name : "";
}

// [(milliseconds, bytes of the device in use from then on)]
std::vector<std::pair<double, int64_t>> MemoryCurve(
    const ExecutionPlan& plan, const SimulatedStep& simulated) {
  std::vector<std::pair<double, int64_t>> curve;
  for (const CounterSample& sample :
       MemoryOverTime(plan, OwnedTimes(plan, simulated), Space::kDevice)) {
    curve.emplace_back(Ms(sample.at_ns), sample.value);
  }
  return curve;
}

// [(name, bytes)] of what owns bytes of the device at the peak, the largest
// first, without residents.
std::vector<std::pair<std::string, int64_t>> AtPeak(
    const ExecutionPlan& plan, const SimulatedStep& simulated) {
  const IdMap<BufferId, Interval> owned = OwnedTimes(plan, simulated);
  const int64_t peak_ns =
      PeakOf(MemoryOverTime(plan, owned, Space::kDevice)).at_ns;
  std::vector<std::pair<std::string, int64_t>> buffers;
  for (const BufferId id : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[id];
    if (buffer.space != Space::kDevice || IsResident(buffer)) continue;
    if (owned[id].contains(peak_ns)) {
      buffers.emplace_back(buffer.name, buffer.bytes);
    }
  }
  std::ranges::stable_sort(buffers, std::greater(),
                           [](const auto& buffer) { return buffer.second; });
  return buffers;
}

// For a prediction. Ranks that are here count where the profile has a network;
// of others, it must be known.
RunOptions OptionsFor(const Step& step, const py::kwargs& arguments) {
  RunOptions options = RunOptionsFrom(arguments);
  if (options.step.device_memory) {
    int64_t& budget = *options.step.device_memory;
    budget = std::max<int64_t>(1, budget - step.update_bytes);
  }
  if (!step.training || !step.training->has_ranks()) return options;
  const WorkersPtr& workers = step.training->workers;
  options.step.communicator = CommunicatorOf(workers);
  if (options.step.communicator == nullptr) {
    options.step.network.workers = SizeOf(workers);
  }
  return options;
}

std::shared_ptr<Prediction> Predict(const StepPtr& step,
                                    const RunOptions& options) {
  auto prediction = std::make_shared<Prediction>(Prediction{.step = step});
  prediction->result = WithoutGil(
      [&] { return Simulate(PlacedProgram(*step, options), options.step); });
  return prediction;
}

std::shared_ptr<Prediction> SimulateStep(const StepPtr& step,
                                         const py::kwargs& arguments) {
  return Predict(step, OptionsFor(*step, arguments));
}

// Bytes do not depend on the network, so it need not be known.
std::shared_ptr<Prediction> MemoryOf(const StepPtr& step,
                                     const py::kwargs& arguments) {
  if (!arguments.contains("lms")) arguments["lms"] = "off";
  RunOptions options = OptionsFor(*step, arguments);
  if (!options.step.network.network_gbps) options.step.network.workers = 1;
  return Predict(step, options);
}

std::shared_ptr<Plan> TuneStepOf(const StepPtr& step,
                                 const py::kwargs& arguments) {
  py::kwargs options_of;
  std::optional<std::string> policy;
  for (const auto& [key, value] : arguments) {
    if (py::cast<std::string>(key) != "policy") {
      options_of[key] = value;
    } else if (!value.is_none()) {
      policy = py::cast<std::string>(value);
    }
  }
  const RunOptions options = OptionsFor(*step, options_of);
  auto plan = std::make_shared<Plan>(Plan{.step = step});
  plan->result = WithoutGil([&] {
    plan->program = PlacedProgram(*step, options);
    return policy ? TuneAsPolicy(plan->program, options.step, *policy)
                  : Tune(plan->program, options.step);
  });
  return plan;
}

py::list Tried(const Plan& plan) {
  py::list rows;
  for (const TriedSet& tried : plan.result.step.tried) {
    py::dict row;
    row["name"] = tried.name;
    row["fits"] = tried.fits;
    row["device_bytes"] = tried.device_bytes;
    row["host_bytes"] = tried.host_bytes;
    row["step_ms"] = Ms(tried.step_ns);
    rows.append(row);
  }
  return rows;
}

ReportHead HeadOf(const Step& step) { return {.batch_size = step.batch_size}; }

// A getter of a member of the result.
template <typename T, typename Get>
auto Field(Get get) {
  return [get](const T& object) { return get(object.result); };
}

// A getter of bytes, to which those of the update come.
template <typename T, typename Get>
auto WithUpdate(Get get) {
  return [get](const T& object) {
    return get(object.result) + object.step->update_bytes;
  };
}

// The budget that was tuned for, with what the update needs.
std::optional<int64_t> DeviceMemoryOf(const Plan& plan) {
  std::optional<int64_t> budget = plan.result.options.device_memory;
  if (budget) *budget += plan.step->update_bytes;
  return budget;
}

using PredictionClass = py::class_<Prediction, std::shared_ptr<Prediction>>;

void BindPredictedBytes(PredictionClass& type) {
  using Result = StepPrediction;
  const auto field = [](auto get) { return Field<Prediction>(get); };
  const auto with_update = [](auto get) { return WithUpdate<Prediction>(get); };
  type.def_readonly("step", &Prediction::step)
      .def_property_readonly("fits",
                             field([](const Result& r) { return r.fits.ok(); }))
      .def_property_readonly("shortage", field([](const Result& r) {
                               return std::string(r.fits.message());
                             }),
                             "Why it does not fit; empty if it does.")
      .def_property_readonly(
          "device_bytes",
          with_update([](const Result& r) { return r.plan.device_bytes; }),
          "Bytes of device memory; of the smallest plan if it does not fit.")
      .def_property_readonly("host_bytes", field([](const Result& r) {
                               return r.plan.host_bytes;
                             }))
      .def_property_readonly(
          "resident_bytes",
          with_update([](const Result& r) { return r.plan.resident_bytes; }),
          "Of these, what outlives a step: variables and constants.")
      .def_property_readonly(
          "smallest_device_bytes",
          with_update([](const Result& r) { return r.smallest_device_bytes; }),
          "What suffices without swaps, in the best order of the nodes.")
      .def_property_readonly(
          "floor_bytes",
          with_update([](const Result& r) { return r.floor.bytes; }),
          "The largest working set of one node: no choice of swaps and "
          "recomputation needs less.")
      .def_property_readonly("floor_node", [](const Prediction& p) {
        return NodeName(p.result.chosen.graph, p.result.floor.node);
      });
}

void BindPredictedTimes(PredictionClass& type) {
  using Result = StepPrediction;
  const auto field = [](auto get) { return Field<Prediction>(get); };
  type.def_property_readonly(
          "step_ms", field([](const Result& r) { return Ms(r.step.step_ns); }))
      .def_property_readonly("bound_ms", field([](const Result& r) {
                               return Ms(r.bound.step_ns);
                             }),
                             "No plan with this order and budget is faster.")
      .def_property_readonly("images_per_second",
                             [](const Prediction& p) {
                               return ImagesPerSecond(*p.step,
                                                      p.result.step.step_ns);
                             })
      .def_property_readonly("profile",
                             field([](const Result& r) { return r.profile; }),
                             "The machine whose times are predicted.")
      .def("memory_curve",
           field([](const Result& r) { return MemoryCurve(r.plan, r.step); }),
           "[(milliseconds, bytes on the device from then on)]")
      .def("at_peak",
           field([](const Result& r) { return AtPeak(r.plan, r.step); }),
           "[(name, bytes)] of what is on the device at the peak beside "
           "variables and constants, the largest first.")
      .def(
          "report",
          [](const Prediction& p, const py::object& path) {
            ThrowIfError(
                WriteHtmlReport(p.result, PathFrom(path), HeadOf(*p.step)));
          },
          py::arg("path"), "Writes a page of HTML (docs/report.md).");
}

using PlanClass = py::class_<Plan, std::shared_ptr<Plan>>;

void BindPlannedBytes(PlanClass& type) {
  using Result = TuneResult;
  const auto field = [](auto get) { return Field<Plan>(get); };
  const auto with_update = [](auto get) { return WithUpdate<Plan>(get); };
  type.def_readonly("step", &Plan::step)
      .def_property_readonly("device_bytes", with_update([](const Result& r) {
                               return r.step.chosen.plan.device_bytes;
                             }))
      .def_property_readonly("host_bytes", field([](const Result& r) {
                               return r.step.chosen.plan.host_bytes;
                             }))
      .def_property_readonly("resident_bytes", with_update([](const Result& r) {
                               return r.step.chosen.plan.resident_bytes;
                             }))
      .def_property_readonly("device_memory", DeviceMemoryOf,
                             "The budget, in bytes.");
}

void BindPlannedTimes(PlanClass& type) {
  using Result = TuneResult;
  const auto field = [](auto get) { return Field<Plan>(get); };
  type.def_property_readonly("step_ms", field([](const Result& r) {
                               return Ms(r.step.chosen.step.step_ns);
                             }),
                             "Predicted.")
      .def_property_readonly(
          "bound_ms",
          field([](const Result& r) { return Ms(r.step.bound.step_ns); }),
          "No plan is faster, whatever it keeps, swaps or recomputes.")
      .def_property_readonly("bound_reason", field([](const Result& r) {
                               return BoundReason(r.step.bound);
                             }))
      .def_property_readonly("images_per_second",
                             [](const Plan& p) {
                               return ImagesPerSecond(
                                   *p.step, p.result.step.chosen.step.step_ns);
                             })
      .def_property_readonly(
          "necessary",
          field([](const Result& r) { return r.step.is_necessary; }),
          "Whether the step does not fit without swaps and recomputation.")
      .def_property_readonly(
          "recipe",
          field([](const Result& r) { return r.step.chosen.recipe.name; }),
          "What was chosen of those tried, \"joint, 0.0 % of the budget kept "
          "free\" say.")
      .def_property_readonly(
          "reason", field([](const Result& r) { return r.step.reason; }))
      .def_property_readonly("interrupted", field([](const Result& r) {
                               return r.step.interrupted;
                             }))
      .def_property_readonly(
          "profile", field([](const Result& r) { return r.profile.name; }))
      .def_property_readonly(
          "floor_bytes",
          WithUpdate<Plan>([](const Result& r) { return r.floor.bytes; }))
      .def_property_readonly(
          "floor_node", field([](const Result& r) { return r.floor_node; }))
      .def_property_readonly("tried", Tried,
                             "What was tried, in order: a list of dicts.");
}

void BindPlanWork(PlanClass& type) {
  using Result = TuneResult;
  const auto field = [](auto get) { return Field<Plan>(get); };
  type.def("memory_curve", field([](const Result& r) {
             return MemoryCurve(r.step.chosen.plan, r.step.chosen.step);
           }),
           "[(milliseconds, bytes on the device from then on)]")
      .def("at_peak", field([](const Result& r) {
             return AtPeak(r.step.chosen.plan, r.step.chosen.step);
           }))
      .def("explain", Explain, py::arg("tensors") = std::vector<std::string>(),
           py::arg("most") = 20,
           "What each fate of a tensor would cost, in milliseconds of the "
           "step: a list of dicts, of the named or the largest tensors. Empty "
           "if the tuner did not choose fates.")
      .def("frontier", FrontierOf,
           "The least predicted time at each budget, from what the step needs "
           "without one down to the smallest that fits.")
      .def(
          "save",
          [](const Plan& p, const py::object& path) {
            ThrowIfError(SavePlan(p.result, p.program.graph, PathFrom(path)));
          },
          py::arg("path"), "Writes a file for Session(plan=path) and --plan.")
      .def(
          "report",
          [](const Plan& p, const py::object& path) {
            ThrowIfError(
                WriteHtmlReport(p.result, PathFrom(path), HeadOf(*p.step)));
          },
          py::arg("path"), "Writes a page of HTML (docs/report.md).");
}

}  // namespace

Program PlacedProgram(const Step& step, const RunOptions& options) {
  Program program = step.program();
  ThrowIfError(PlaceProgram(options.place, options.step, program).status());
  return program;
}

void BindTuning(py::module_& module) {
  PredictionClass prediction(
      module, "Prediction",
      "A step's exact bytes and predicted time, as it was planned.");
  BindPredictedBytes(prediction);
  BindPredictedTimes(prediction);
  PlanClass plan(module, "Plan",
                 "How a step runs within its budget, as tune chose it; for "
                 "Session(step, plan=...).");
  BindPlannedBytes(plan);
  BindPlannedTimes(plan);
  BindPlanWork(plan);
  BindWhatIf(module);
  module.def("simulate", SimulateStep, py::arg("step"),
             R"(The step's exact bytes and predicted time. Runs nothing.

Keyword arguments: see spillway.options.)");
  module.def("memory", MemoryOf, py::arg("step"),
             R"(The exact bytes that the step needs without swaps. Runs nothing.

Keyword arguments: see spillway.options.)");
  module.def(
      "tune", TuneStepOf, py::arg("step"),
      R"(Chooses how the step runs within its budget: which tensors are kept,
swapped or recomputed. Runs nothing; the results of a run do not change by a bit.

policy: a classic policy in place of the tuner's search, "vdnn_all" say
    (docs/cli.md).
Other keyword arguments: see spillway.options. Errors: OutOfBudget. Ctrl-C ends
the search.)");
}

}  // namespace spillway::python
