// The class Workers of Python: the ranks of a run, and which of them this
// process is.
#ifndef SPILLWAY_PYTHON_MODULE_RUNNING_WORKERS_H_
#define SPILLWAY_PYTHON_MODULE_RUNNING_WORKERS_H_

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "pybind11/pybind11.h"

namespace spillway::python {

struct Workers {
  std::unique_ptr<Communicator> communicator = {};  // null: this one is alone
  std::string launcher = {};
  std::string device = {};  // this rank's GPU; empty: as ever
  // Of ranks that are not there, and whose step is only predicted; 0: they are.
  int predicted_size = 0;
};
// Shared by the steps and sessions that exchange through it.
using WorkersPtr = std::shared_ptr<Workers>;

// Null, or alone: 1 and null.
inline int SizeOf(const WorkersPtr& workers) {
  if (workers == nullptr) return 1;
  return workers->predicted_size > 0 ? workers->predicted_size
                                     : WorldSizeOf(workers->communicator.get());
}
inline Communicator* CommunicatorOf(const WorkersPtr& workers) {
  return workers == nullptr ? nullptr : workers->communicator.get();
}

// Workers, or a number of ranks that are only predicted.
WorkersPtr WorkersFrom(pybind11::handle value);

void BindWorkers(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_RUNNING_WORKERS_H_
