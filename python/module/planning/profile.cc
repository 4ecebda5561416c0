#include "python/module/planning/profile.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "pybind11/stl.h"
#include "python/module/callbacks.h"
#include "python/module/graph/step.h"
#include "python/module/options.h"
#include "python/module/status.h"
#include "tuner/profile/measure_profile.h"
#include "tuner/profile/resolve_profile.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// The times of this machine's link and memory, and with a step, of its kernels.
DeviceProfile Measure(const StepPtr& step, int64_t repeats,
                      const py::kwargs& arguments) {
  const RunOptions options = RunOptionsFrom(arguments);
  ProfileMeasurement measurement = {
      .repeats = repeats, .steps = repeats, .stop = SignalCame};
  if (step != nullptr) measurement.program = &step->program();
  return WithoutGil([&] { return MeasureProfile(options.step, measurement); });
}

// To a file; None: the one that is read where no profile is named.
std::string Save(const DeviceProfile& profile, const py::object& path,
                 const py::kwargs& arguments) {
  const std::string file =
      path.is_none()
          ? ValueOrThrow(CachedProfilePath(RunOptionsFrom(arguments).step))
          : PathFrom(path);
  if (file.empty()) {
    throw StatusError(
        InvalidArgument("path: it must be given, since neither XDG_CACHE_HOME "
                        "nor HOME is set"));
  }
  ThrowIfError(SaveProfile(profile, file));
  return file;
}

std::map<std::string, double> FlopsOf(const DeviceProfile& profile) {
  std::map<std::string, double> flops;
  for (const auto& [dtype, rate] : profile.flops_per_second) {
    flops[std::string(DTypeName(dtype))] = rate;
  }
  return flops;
}

}  // namespace

ProfileChoice ProfileFrom(py::handle value) {
  if (py::isinstance<DeviceProfile>(value)) {
    return value.cast<const DeviceProfile&>();
  }
  return py::cast<std::string>(py::str(value));
}

void BindProfile(py::module_& module) {
  py::class_<DeviceProfile>(
      module, "Profile",
      "The times of a machine, for the profile argument of tune and others; "
      "made by measure_profile.")
      .def_readonly("name", &DeviceProfile::name)
      .def_property_readonly("flops_per_second", FlopsOf, "{dtype: rate}")
      .def("save", Save, py::arg("path") = py::none(),
           "Writes a file, or adds to one of the same machine, and returns its "
           "path. None: the file that is read where no profile is named, for "
           "the keyword arguments device, threads and link_gbps.")
      .def("__repr__", [](const DeviceProfile& profile) {
        return fmt::format("<spillway.Profile {}>", profile.name);
      });
  module.def(
      "measure_profile", Measure, py::arg("step") = nullptr, py::kw_only(),
      py::arg("repeats") = 20,
      R"(Measures this machine: its link, memory and arithmetic, and with a step
each of its kernels (docs/device_profile.md). Occupies it for some seconds.

repeats: of each measurement, and steps that are timed.
Keyword arguments: device, threads, link_gbps (see spillway.options). Ctrl-C
ends it.)");
}

}  // namespace spillway::python
