// What goes into a step and comes out of a session, between Python and C++.
#ifndef SPILLWAY_PYTHON_MODULE_RUNNING_FEEDS_H_
#define SPILLWAY_PYTHON_MODULE_RUNNING_FEEDS_H_

#include <optional>
#include <vector>

#include "executor/session/session.h"
#include "pybind11/pybind11.h"
#include "python/module/arrays.h"
#include "python/module/graph/step.h"
#include "training/safetensors.h"

namespace spillway::python {

// Feeds and the arrays whose memory they borrow.
struct BorrowedFeeds {
  std::vector<ArrayTensor> tensors = {};
  Feeds feeds = {};
};

// Throws InvalidArgument naming an input that the step does not have, or whose
// value does not fit.
BorrowedFeeds FeedsFrom(const Step& step, const pybind11::kwargs& values);

// The same for an update, in the order of the step's data inputs. One that is
// not fed is InvalidArgument too.
struct BorrowedFields {
  std::vector<ArrayTensor> tensors = {};
  std::vector<TensorView> fields = {};
  std::optional<double> rate = {};
};
BorrowedFields FieldsFrom(const Step& step, const pybind11::kwargs& values);

// {name: array}
pybind11::dict DictOf(TensorMap&& tensors);
// {"predicted_device_bytes": ...}
pybind11::dict DictOf(const MemoryUse& use);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_RUNNING_FEEDS_H_
