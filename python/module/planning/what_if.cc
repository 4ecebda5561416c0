#include "python/module/planning/what_if.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pybind11/stl.h"
#include "python/module/callbacks.h"
#include "python/module/options.h"
#include "python/module/status.h"
#include "tuner/max_batch.h"
#include "tuner/what_if/price_tensors.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// step_of(batch size), a Step.
py::dict MaxBatchOf(const py::object& step_of, int64_t start,
                    std::optional<int64_t> limit, const py::kwargs& arguments) {
  const RunOptions options = RunOptionsFrom(arguments);
  BatchRange range = {.start = start, .stop = SignalCame};
  if (limit) range.limit = *limit;
  Callbacks callbacks;
  const auto program_of = [&](int64_t batch_size) {
    return callbacks.Call([&]() -> absl::StatusOr<Program> {
      return PlacedProgram(*py::cast<StepPtr>(step_of(batch_size)), options);
    });
  };
  const MaxBatch found = callbacks.WithoutGil(
      [&] { return FindMaxBatch(program_of, options.step, range); });
  py::list tried;
  for (const BatchAttempt& attempt : found.tried) {
    py::dict row;
    row["batch_size"] = attempt.batch_size;
    row["fits"] = attempt.fits;
    row["device_bytes"] = attempt.peak_device_bytes;
    row["host_bytes"] = attempt.peak_host_bytes;
    row["step_ms"] = Ms(attempt.step_ns);
    tried.append(row);
  }
  py::dict result;
  result["batch_size"] = found.batch_size;
  result["tried"] = tried;
  result["interrupted"] = found.interrupted;
  return result;
}

py::object MsOrNone(std::optional<int64_t> ns) {
  if (!ns) return py::none();
  return py::float_(Ms(*ns));
}

py::list Points(const FrontierResult& result) {
  py::list points;
  for (const FrontierPoint& point : result.frontier.points) {
    py::dict row;
    row["device_memory"] = point.device_memory;
    row["step_ms"] = Ms(point.step_ns);
    row["bound_ms"] = Ms(point.bound_ns);
    row["device_bytes"] = point.device_bytes;
    row["host_bytes"] = point.host_bytes;
    row["name"] = point.name;
    points.append(row);
  }
  return points;
}

}  // namespace

FrontierResult FrontierOf(const Plan& plan) {
  return {.frontier = WithoutGil(
              [&] { return TuneFrontier(plan.program, plan.result.options); })};
}

py::list Explain(const Plan& plan, const std::vector<std::string>& tensors,
                 size_t most) {
  const std::vector<TensorPrice> prices = [&] {
    const py::gil_scoped_release released;
    return ValueOrThrow(PriceTensors(plan.program, plan.result,
                                     {.tensors = tensors, .most = most}));
  }();
  py::list rows;
  for (const TensorPrice& price : prices) {
    py::dict row;
    row["tensor"] = price.tensor;
    row["bytes"] = price.bytes;
    row["fate"] = std::string(FateName(price.fate));
    const auto change = [&](Fate fate) {
      return MsOrNone(price.change_ns[static_cast<size_t>(fate)]);
    };
    row["if_kept_ms"] = change(Fate::kKept);
    row["if_swapped_ms"] = change(Fate::kSwapped);
    row["if_recomputed_ms"] = change(Fate::kRecomputed);
    rows.append(row);
  }
  return rows;
}

void BindWhatIf(py::module_& module) {
  py::class_<FrontierResult>(
      module, "Frontier",
      "The least predicted time of a step at each budget; largest first.")
      .def_property_readonly("points", Points, "A list of dicts.")
      .def_property_readonly(
          "interrupted",
          [](const FrontierResult& r) { return r.frontier.interrupted; })
      .def("to_csv", [](const FrontierResult& r) {
        return FormatFrontierCsv(r.frontier);
      });
  module.def("find_max_batch", MaxBatchOf, py::arg("step_of"), py::kw_only(),
             py::arg("start") = 1, py::arg("limit") = py::none(),
             R"(The largest batch size whose step fits the budget. Runs nothing.

step_of: a function of the batch size that returns a Step:
    lambda n: spillway.zoo("resnet50", batch_size=n).training_step()
start: where the search begins. limit: larger sizes are not tried.
Keyword arguments: see spillway.options; a budget is needed: device_memory, or a
named profile. Returns a dict: batch_size (0: none fits), tried (a list of dicts)
and interrupted, by Ctrl-C.)");
}

}  // namespace spillway::python
