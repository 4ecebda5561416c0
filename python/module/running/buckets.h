// The class BucketedSession of Python: one network for inputs of several sizes.
#ifndef SPILLWAY_PYTHON_MODULE_RUNNING_BUCKETS_H_
#define SPILLWAY_PYTHON_MODULE_RUNNING_BUCKETS_H_

#include "pybind11/pybind11.h"

namespace spillway::python {

void BindBuckets(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_RUNNING_BUCKETS_H_
