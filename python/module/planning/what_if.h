// Questions about other budgets, other fates of tensors and other batches.
#ifndef SPILLWAY_PYTHON_MODULE_PLANNING_WHAT_IF_H_
#define SPILLWAY_PYTHON_MODULE_PLANNING_WHAT_IF_H_

#include <cstddef>
#include <string>
#include <vector>

#include "pybind11/pybind11.h"
#include "python/module/planning/tuning.h"
#include "tuner/what_if/frontier.h"

namespace spillway::python {

struct FrontierResult {
  Frontier frontier = {};
};

// Plan.frontier and Plan.explain.
FrontierResult FrontierOf(const Plan& plan);
pybind11::list Explain(const Plan& plan,
                       const std::vector<std::string>& tensors, size_t most);

// The class Frontier, and find_max_batch.
void BindWhatIf(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_PLANNING_WHAT_IF_H_
