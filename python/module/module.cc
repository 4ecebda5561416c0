// spillway._spillway: the C++ library for the Python package.
#include <string>

#include "base/log.h"
#include "pybind11/pybind11.h"
#include "python/module/graph/graph_builder.h"
#include "python/module/graph/optimizers.h"
#include "python/module/graph/step.h"
#include "python/module/planning/profile.h"
#include "python/module/planning/tuning.h"
#include "python/module/running/buckets.h"
#include "python/module/running/datasets.h"
#include "python/module/running/session.h"
#include "python/module/running/train.h"
#include "python/module/running/workers.h"
#include "python/module/status.h"

namespace {

namespace py = pybind11;

// pybind11 before 2.12 reads the dtypes of NumPy 1; those of NumPy 2 lie
// otherwise, and arrays would have wrong elements.
void CheckNumPy() {
  constexpr bool kReadsNumPy2 = PYBIND11_VERSION_HEX >= 0x020C0000;
  const auto version =
      py::cast<std::string>(py::module_::import("numpy").attr("__version__"));
  if (kReadsNumPy2 || version.starts_with("1.")) return;
  throw py::import_error("this build of spillway is for NumPy 1, not " +
                         version + "; `pip install .` makes one for NumPy 2");
}

}  // namespace

PYBIND11_MODULE(_spillway, module) {
  namespace python = spillway::python;
  CheckNumPy();
  spillway::ConfigureLog(spdlog::level::warn);  // stdout is the user's
  module.attr("__version__") = SPILLWAY_VERSION;
  python::RegisterErrors();
  python::BindWorkers(module);
  python::BindOptimizers(module);
  python::BindStep(module);
  python::BindModels(module);
  python::BindGraphBuilder(module);
  python::BindProfile(module);
  python::BindTuning(module);
  python::BindSession(module);
  python::BindBuckets(module);
  python::BindDatasets(module);
  python::BindTrain(module);
}
