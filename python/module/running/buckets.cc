#include "python/module/running/buckets.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/callbacks.h"
#include "python/module/graph/step.h"
#include "python/module/options.h"
#include "python/module/running/feeds.h"
#include "python/module/status.h"
#include "training/checkpoint.h"
#include "tuner/buckets/bucketed_session.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// 32 or (224, 160)
BucketKey KeyFrom(py::handle value) {
  if (py::isinstance<py::int_>(value)) return {py::cast<int64_t>(value)};
  return py::cast<BucketKey>(value);
}

py::object KeyObject(const BucketKey& key) {
  if (key.size() == 1) return py::int_(key[0]);
  return py::tuple(py::cast(key));
}

// One caller at a time: others wait, without the GIL, which must be held for
// all calls.
class Buckets {
 private:
  // fn(buckets), which returns a StatusOr, without the GIL; then its value.
  template <typename Fn>
  auto With(const Fn& fn) {
    const std::unique_lock<std::mutex> lock = [&] {
      const py::gil_scoped_release released;
      return std::unique_lock(mutex_);
    }();
    return callbacks_.WithoutGil([&] { return fn(*buckets_); });
  }

 public:
  Buckets(py::object step_of, py::handle default_key, const py::list& keys,
          bool strict, const py::kwargs& arguments)
      : step_of_(std::move(step_of)) {
    ShapeBucketSpec spec = {.default_key = KeyFrom(default_key),
                            .strict = strict};
    for (const py::handle key : keys) spec.keys.push_back(KeyFrom(key));
    spec.program_of = [this](const BucketKey& key) {
      return callbacks_.Call([&] { return ProgramOf(key); });
    };
    const RunOptions options = RunOptionsFrom(arguments);
    if (options.place != PlaceMode::kOff) {
      throw StatusError(
          Unimplemented("place: buckets have all nodes on the device"));
    }
    buckets_ = callbacks_.WithoutGil(
        [&] { return BucketedSession::Create(spec, options.step); });
  }

  py::dict Run(py::handle key_value, const py::kwargs& values) {
    const BucketKey key = KeyFrom(key_value);
    With([&](BucketedSession& buckets) { return buckets.Open(key); });
    const Step& step = *steps_.at(key);
    const BorrowedFeeds borrowed = FeedsFrom(step, values);
    NamedFeeds feeds;
    for (const StepInput& input : step.inputs) {
      const auto fed = borrowed.feeds.find(input.id);
      if (fed != borrowed.feeds.end()) feeds.emplace(input.name, fed->second);
    }
    BucketStep result = With(
        [&](BucketedSession& buckets) { return buckets.Step(key, feeds); });
    py::dict outputs;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      outputs[py::str(step.outputs[i].first)] =
          ArrayOf(std::move(result.result.fetched.at(result.fetches[i])));
    }
    return outputs;
  }

  py::object StepLoss(py::handle key, const py::kwargs& values) {
    const py::dict outputs = Run(key, values);
    if (!outputs.contains("loss")) return outputs;
    return outputs["loss"].attr("item")();
  }

  py::list Keys() {
    py::list keys;
    for (const BucketKey& key : buckets_->keys()) keys.append(KeyObject(key));
    return keys;
  }

  // fn(session), which returns a StatusOr.
  template <typename Fn>
  auto WithSession(const Fn& fn) {
    return With(
        [&](BucketedSession& buckets) -> std::invoke_result_t<Fn, Session&> {
          SPILLWAY_ASSIGN_OR_RETURN(Session* const session, buckets.session());
          return fn(*session);
        });
  }

 private:
  absl::StatusOr<Program> ProgramOf(const BucketKey& key) {
    auto step = py::cast<StepPtr>(step_of_(KeyObject(key)));
    if (step->training && step->training->is_composed()) {
      return Unimplemented(
          "a bucket's step has one batch an update, and no workers");
    }
    Program program = step->program();
    steps_[key] = std::move(step);
    return program;
  }

  py::object step_of_;
  std::map<BucketKey, StepPtr> steps_;  // changes with the GIL
  Callbacks callbacks_;
  std::mutex mutex_;
  std::unique_ptr<BucketedSession> buckets_;
};

TensorMap ReadVariables(Buckets& buckets) {
  return buckets.WithSession([](Session& session) -> absl::StatusOr<TensorMap> {
    return session.ReadVariables();
  });
}

// A StatusOr for a call that returns nothing.
absl::StatusOr<bool> Done(const absl::Status& status) {
  SPILLWAY_RETURN_IF_ERROR(status);
  return true;
}

void Save(Buckets& buckets, const py::object& path) {
  const std::string file = PathFrom(path);
  buckets.WithSession(
      [&](Session& session) { return Done(SaveCheckpoint(session, file)); });
}

void Load(Buckets& buckets, const py::object& path) {
  const std::string file = PathFrom(path);
  buckets.WithSession([&](Session& session) {
    return Done(LoadCheckpoint(file, session).status());
  });
}

py::dict Memory(Buckets& buckets) {
  return DictOf(
      buckets.WithSession([](Session& session) -> absl::StatusOr<MemoryUse> {
        return session.memory();
      }));
}

}  // namespace

void BindBuckets(py::module_& module) {
  py::class_<Buckets>(
      module, "BucketedSession",
      R"(A session for inputs of several sizes: a step for each size, its bucket, and
one set of variables, in one arena.

step_of: a function of a bucket's key (a number, or a tuple of numbers) that
    returns its Step. It is called when the bucket is planned.
default_key: of a bucket that has the variables of all others.
keys: of buckets that are planned now; others are planned when they are used.
strict: True: a bucket that needs a larger arena is refused; False: the arena
    grows, with a warning.
Keyword arguments: see spillway.options. Each bucket is tuned within the budget
by itself.)")
      .def(py::init<py::object, py::handle, const py::list&, bool,
                    const py::kwargs&>(),
           py::arg("step_of"), py::arg("default_key"),
           py::arg("keys") = py::list(), py::arg("strict") = false)
      .def("step", &Buckets::StepLoss, py::arg("key"), py::pos_only(),
           "Runs one step of the bucket and returns its loss. Keyword "
           "arguments: the inputs of its step, by name.")
      .def("run", &Buckets::Run, py::arg("key"), py::pos_only(),
           "As step, but returns all outputs, {name: NumPy array}.")
      .def_property_readonly("keys", &Buckets::Keys,
                             "Of the buckets that are planned, a list.")
      .def(
          "variables",
          [](Buckets& buckets) { return DictOf(ReadVariables(buckets)); },
          "Copies of all variables, {name: NumPy array}.")
      .def(
          "checksum",
          [](Buckets& buckets) { return Checksum(ReadVariables(buckets)); },
          "16 hex digits: equal for bitwise equal variables.")
      .def("save", Save, py::arg("path"), "Writes a checkpoint.")
      .def("load", Load, py::arg("path"),
           "Continues from a checkpoint of a session with the same keys.")
      .def_property_readonly(
          "memory", Memory,
          "Predicted and measured bytes; they are equal. A dict.");
}

}  // namespace spillway::python
