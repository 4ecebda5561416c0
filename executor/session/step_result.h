// StepResult: the fetched tensors of a step.
#ifndef SPILLWAY_EXECUTOR_SESSION_STEP_RESULT_H_
#define SPILLWAY_EXECUTOR_SESSION_STEP_RESULT_H_

#include <map>

#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "graph/node.h"

namespace spillway {

struct StepResult {
  std::map<ValueId, HostTensor> fetched = {};  // by the program's fetches

  // The tensor of a fetch; borrows the result. Errors: NOT_FOUND for a value
  // that the program does not fetch.
  absl::StatusOr<const HostTensor*> tensor(ValueId id) const;

  // The only element of a fetch. Errors: as tensor(); INVALID_ARGUMENT if it is
  // not float32 or does not have exactly one element.
  absl::StatusOr<float> scalar(ValueId id) const;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_STEP_RESULT_H_
