#include "python/module/options.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/edit_distance.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "lms/options.h"
#include "pybind11/functional.h"
#include "pybind11/stl.h"
#include "python/module/graph/numpy_op.h"
#include "python/module/planning/profile.h"
#include "python/module/status.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

std::string Repr(py::handle value) { return py::str(py::repr(value)); }

std::string Unknown(const std::string& name, const Setters& setters) {
  std::vector<std::string> known;
  for (const auto& [key, set] : setters) known.push_back(key);
  const std::string meant = NameMeantBy(name, known);
  return meant.empty()
             ? fmt::format("there is no argument '{}': there are {}", name,
                           fmt::join(known, ", "))
             : fmt::format("there is no argument '{}'; '{}' is meant, perhaps",
                           name, meant);
}

// True: to stderr; a function: called with each line.
std::function<void(std::string_view)> LogFrom(py::handle value) {
  if (py::isinstance<py::bool_>(value)) {
    if (!py::cast<bool>(value)) return nullptr;
    return [](std::string_view line) {
      fmt::print(stderr, "spillway: {}\n", line);
    };
  }
  auto call = py::cast<std::function<void(std::string)>>(value);
  return [call = std::move(call)](std::string_view line) {
    const py::gil_scoped_acquire gil;
    call(std::string(line));
  };
}

template <typename T>
std::function<void(py::handle)> ToChoice(
    T& place, const std::map<std::string, T>& choices) {
  return
      [&place, choices](py::handle value) { place = ChoiceOf(value, choices); };
}

std::function<void(py::handle)> ToBytes(std::optional<int64_t>& place) {
  return [&place](py::handle value) { place = BytesFrom(value); };
}

Setters SettersOf(StepOptions& options) {
  return {
      {"device", To(options.device)},
      {"threads", To(options.threads)},
      {"link_gbps", To(options.link_gbps)},
      {"device_memory", ToBytes(options.device_memory)},
      {"host_memory", ToBytes(options.host_memory)},
      {"lms", ToChoice<LmsMode>(options.lms.mode, {{"off", LmsMode::kOff},
                                                   {"auto", LmsMode::kAuto},
                                                   {"v1", LmsMode::kV1},
                                                   {"v2", LmsMode::kV2}})},
      {"recompute",
       ToChoice<RecomputePolicy>(options.lms.recompute.policy,
                                 {{"off", RecomputePolicy::kOff},
                                  {"cheap", RecomputePolicy::kCheap},
                                  {"sqrt", RecomputePolicy::kSqrt},
                                  {"auto", RecomputePolicy::kAuto}})},
      {"algorithms",
       ToChoice<AlgorithmChoice>(options.algorithms,
                                 {{"same", AlgorithmChoice::kSame},
                                  {"first", AlgorithmChoice::kFirst},
                                  {"auto", AlgorithmChoice::kAuto}})},
      {"profile",
       [&options](py::handle value) { options.profile = ProfileFrom(value); }},
      {"effort", ToChoice<SearchEffort>(options.effort,
                                        {{"normal", SearchEffort::kNormal},
                                         {"high", SearchEffort::kHigh}})},
      {"time_limit",
       [&options](py::handle value) {
         options.time_limit = py::cast<double>(value);
       }},
      {"seed", To(options.seed)},
      {"check_memory", To(options.check_memory)},
      {"log", [&options](py::handle value) { options.log = LogFrom(value); }}};
}

// Of the ranks that are predicted.
Setters SettersOf(NetworkOptions& options) {
  return {
      {"network_gbps", To(options.network_gbps)},
      {"network_latency_us", To(options.network_latency_us)},
      {"intra_host_gbps", To(options.intra_host_gbps)},
      {"intra_host_latency_us", To(options.intra_host_latency_us)},
      {"ranks_per_host", To(options.ranks_per_host)},
      {"allreduce", ToChoice<AllReduceChoice>(
                        options.allreduce,
                        {{"auto", AllReduceChoice::kAuto},
                         {"ring", AllReduceChoice::kRing},
                         {"tree", AllReduceChoice::kTree},
                         {"hierarchical", AllReduceChoice::kHierarchical}})},
      {"staged_allreduce", To(options.staged_allreduce)},
      {"rank_jitter", To(options.rank_jitter)}};
}

}  // namespace

void Apply(const py::kwargs& arguments, const Setters& setters) {
  for (const auto& [key, value] : arguments) {
    const auto name = py::cast<std::string>(key);
    const auto setter = setters.find(name);
    if (setter == setters.end()) {
      throw StatusError(InvalidArgument(Unknown(name, setters)));
    }
    if (value.is_none()) continue;
    try {
      setter->second(value);
    } catch (const py::cast_error&) {
      throw StatusError(
          InvalidArgument(fmt::format("{} cannot be {}", name, Repr(value))));
    } catch (const StatusError& error) {
      throw StatusError(Annotate(error.status(), name));
    }
  }
}

void ThrowUnknownChoice(py::handle value,
                        const std::vector<std::string>& known) {
  throw StatusError(InvalidArgument(fmt::format(
      "{} is none of '{}'", Repr(value), fmt::join(known, "', '"))));
}

int64_t BytesFrom(py::handle value) {
  if (py::isinstance<py::str>(value)) {
    return ValueOrThrow(ParseBytes(py::cast<std::string>(value)));
  }
  return py::cast<int64_t>(value);
}

std::string PathFrom(py::handle value) {
  return py::cast<std::string>(py::module_::import("os").attr("fspath")(value));
}

RunOptions RunOptionsFrom(const py::kwargs& arguments) {
  RunOptions options;
  options.step.stop = SignalCame;
  options.step.ops = &Ops();
  options.step.kernels = &Kernels();
  Setters setters = SettersOf(options.step);
  setters.merge(SettersOf(options.step.network));
  std::map<std::string, PlaceMode> modes;
  for (const PlaceMode mode :
       {PlaceMode::kOff, PlaceMode::kAuto, PlaceMode::kUpdates,
        PlaceMode::kEstimate, PlaceMode::kForce}) {
    modes[std::string(PlaceModeName(mode))] = mode;
  }
  setters["place"] = ToChoice(options.place, modes);
  Apply(arguments, setters);
  ThrowIfError(CheckStepOptions(options.step));
  return options;
}

std::vector<Pass> PassesFor(const std::string& names,
                            const std::string& device) {
  StepOptions options;
  options.device = device;
  return ValueOrThrow(SelectPasses(names, ValueOrThrow(PassTargetOf(options))));
}

bool SignalCame() {
  const py::gil_scoped_acquire gil;
  return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
}

void ThrowIfInterrupted() {
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
}

}  // namespace spillway::python
