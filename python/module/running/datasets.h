// What Python trains on, as a Dataset: arrays, objects with a row for each
// index, and files.
#ifndef SPILLWAY_PYTHON_MODULE_RUNNING_DATASETS_H_
#define SPILLWAY_PYTHON_MODULE_RUNNING_DATASETS_H_

#include <memory>
#include <string>
#include <vector>

#include "pybind11/pybind11.h"
#include "python/module/graph/step.h"
#include "training/data/dataset.h"

namespace spillway::python {

// The class Dataset of Python: one that reads files.
struct FileDataset {
  std::shared_ptr<const Dataset> rows = {};
  int64_t num_classes = 0;
};

// The rows of `data`, whose fields are the inputs `names` of `step`, in their
// order. `data`: a FileDataset; a dict {name: array [rows, ...]}, which is
// borrowed where TensorOf borrows it; or an object with __len__ and
// __getitem__, whose items are a dict {name: array} or the arrays in order,
// and which is called with the GIL by the thread that reads. Throws
// InvalidArgument naming the array that is missing, unknown, of another type or
// shape, or has another number of rows.
std::shared_ptr<const Dataset> DatasetFrom(
    const pybind11::object& data, const std::vector<std::string>& names,
    const Step& step);

// The class Dataset, and functions that open files.
void BindDatasets(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_RUNNING_DATASETS_H_
