#include "python/module/running/workers.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "comm/launch/launch.h"
#include "comm/open_communicator.h"
#include "comm/ranks.h"
#include "executor/gpu_of_rank.h"
#include "pybind11/numpy.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/options.h"
#include "python/module/status.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

constexpr double kMostSeconds = 1e6;
constexpr int64_t kMostRanks = 1 << 20;

std::chrono::milliseconds TimeoutFrom(py::handle value) {
  const auto seconds = py::cast<double>(value);
  if (!(seconds >= 0.001 && seconds <= kMostSeconds)) {
    throw StatusError(InvalidArgument(
        fmt::format("{} is not a number of seconds from 0.001 to {}", seconds,
                    kMostSeconds)));
  }
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

WorkersPtr FindWorkers(const py::kwargs& arguments) {
  CommSpec spec;
  auto workers = std::make_shared<Workers>();
  Apply(arguments,
        {{"comm", To(spec.backend)},
         {"device", To(workers->device)},
         {"comm_interface", To(spec.interface)},
         {"comm_timeout",
          [&](py::handle value) { spec.options.timeout = TimeoutFrom(value); }},
         {"deterministic_reduce", To(spec.options.deterministic_reduce)},
         {"check_calls", To(spec.options.check_calls)}});
  spec.identity = ValueOrThrow(FindRank());
  workers->launcher = spec.identity.launcher;
  if (spec.identity.size == 1) return workers;
  const py::gil_scoped_release released;
  spec.gpu = ValueOrThrow(FindGpuOfRank(workers->device, spec.identity));
  if (spec.gpu) workers->device = spec.gpu->device;
  workers->communicator = ValueOrThrow(OpenCommunicator(spec));
  return workers;
}

ReduceOp OpFrom(const std::string& name) {
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin}) {
    if (ReduceOpName(op) == name) return op;
  }
  throw StatusError(InvalidArgument(
      fmt::format("op: '{}' is none of 'sum', 'max', 'min'", name)));
}

HostTensor TensorFrom(const py::object& value) {
  return CopyOf(value, TypeFrom(value), "the array");
}

py::array AllReduce(Workers& workers, const py::object& value,
                    const std::string& op_name) {
  const ReduceOp op = OpFrom(op_name);
  HostTensor tensor = TensorFrom(value);
  if (workers.communicator != nullptr) {
    const py::gil_scoped_release released;
    ThrowIfError(workers.communicator->AllReduce(tensor.bytes.data(),
                                                 tensor.type.num_elements(),
                                                 tensor.type.dtype, op));
  }
  return ArrayOf(std::move(tensor));
}

py::array Broadcast(Workers& workers, const py::object& value, int root) {
  HostTensor tensor = TensorFrom(value);
  const int size = WorldSizeOf(workers.communicator.get());
  if (root < 0 || root >= size) {
    throw StatusError(InvalidArgument(
        fmt::format("root: {} is no rank, from 0 to {}", root, size - 1)));
  }
  if (workers.communicator != nullptr) {
    const py::gil_scoped_release released;
    ThrowIfError(workers.communicator->Broadcast(
        tensor.bytes.data(), static_cast<int64_t>(tensor.bytes.size()), root));
  }
  return ArrayOf(std::move(tensor));
}

void Barrier(Workers& workers) {
  if (workers.communicator == nullptr) return;
  const py::gil_scoped_release released;
  ThrowIfError(workers.communicator->Barrier());
}

CommInfo InfoOf(const Workers& workers) {
  if (workers.communicator != nullptr) return workers.communicator->info();
  return {.backend = "self"};
}

// The exit status of the ranks, and why.
py::tuple LaunchRanks(const std::vector<std::string>& command, int ranks,
                      const std::string& log_folder, int max_restarts,
                      double grace_seconds) {
  const LaunchSpec spec = {
      .ranks = ranks,
      .command = command,
      .max_restarts = max_restarts,
      .grace = std::chrono::milliseconds(std::llround(grace_seconds * 1000)),
      .log_folder = log_folder};
  const LaunchResult result = [&] {
    const py::gil_scoped_release released;
    return ValueOrThrow(Launch(spec));
  }();
  return py::make_tuple(result.exit_status, result.reason);
}

using WorkersClass = py::class_<Workers, WorkersPtr>;

// A getter of a member of CommInfo.
template <typename T>
auto Info(T CommInfo::*member) {
  return [member](const Workers& workers) { return InfoOf(workers).*member; };
}

void BindFacts(WorkersClass& type) {
  type.def_property_readonly("rank", Info(&CommInfo::rank), "From 0.")
      .def_property_readonly("size", Info(&CommInfo::size),
                             "The number of ranks.")
      .def_property_readonly("local_rank", Info(&CommInfo::local_rank),
                             "Among those of this host.")
      .def_property_readonly("local_size", Info(&CommInfo::local_size))
      .def_property_readonly("comm", Info(&CommInfo::backend),
                             "How they communicate: \"self\" (there is one "
                             "rank), \"gloo\", \"mpi\" or \"nccl\".")
      .def_readonly("launcher", &Workers::launcher,
                    "What started the ranks: \"torchrun\", say; \"\": nothing.")
      .def_readonly("device", &Workers::device,
                    "This rank's GPU; \"\": none was chosen.")
      .def("__repr__", [](const Workers& workers) {
        const CommInfo info = InfoOf(workers);
        return fmt::format("<spillway.Workers: rank {} of {}, {}>", info.rank,
                           info.size, info.backend);
      });
}

void BindCalls(WorkersClass& type) {
  type.def("all_reduce", AllReduce, py::arg("array"), py::arg("op") = "sum",
           "The sum (\"max\", \"min\") of the arrays of all ranks, which call "
           "this with arrays of one dtype and shape. float64 becomes float32.")
      .def("broadcast", Broadcast, py::arg("array"), py::arg("root") = 0,
           "The array of rank `root`, on all ranks.")
      .def("barrier", Barrier, "Returns when all ranks have called it.");
}

}  // namespace

WorkersPtr WorkersFrom(py::handle value) {
  if (!py::isinstance<py::int_>(value)) return py::cast<WorkersPtr>(value);
  const auto size = py::cast<int64_t>(value);
  if (size < 1 || size > kMostRanks) {
    throw StatusError(InvalidArgument(fmt::format(
        "{} is not a number of ranks from 1 to {}", size, kMostRanks)));
  }
  auto workers = std::make_shared<Workers>();
  workers->predicted_size = static_cast<int>(size);
  return workers;
}

void BindWorkers(py::module_& module) {
  WorkersClass type(
      module, "Workers",
      "The ranks of a run that train one network together, as a launcher has "
      "started them; made by workers(). Calls are made by all ranks, in the "
      "same order. Errors: Unavailable if a rank was lost, Error if one was "
      "late.");
  BindFacts(type);
  BindCalls(type);
  module.def("_launch", LaunchRanks, py::arg("command"), py::kw_only(),
             py::arg("ranks"), py::arg("log_dir"), py::arg("max_restarts"),
             py::arg("grace"));
  module.def(
      "workers", FindWorkers,
      R"(The ranks that python -m spillway.launch, mpirun, torchrun or srun has
started, and which of them this process is (docs/workers.md). Returns when all
of them have called it. In a process that is alone: one rank.

Keyword arguments: comm ("auto", "gloo", "mpi" or "nccl"), device (with GPUs,
"cuda": that of the rank's number on its host), comm_interface (that gloo
listens on; loopback by default), comm_timeout (600, seconds after which a rank
is late), deterministic_reduce (True: sums are added in the order of the
ranks), check_calls (True: finds where the ranks' calls part).)");
}

}  // namespace spillway::python
