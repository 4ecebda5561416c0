// The first values of an imported model's variables, in a session.
#ifndef SPILLWAY_ONNX_MODEL_WRITE_INITIAL_VALUES_H_
#define SPILLWAY_ONNX_MODEL_WRITE_INITIAL_VALUES_H_

#include <vector>

#include "absl/status/status.h"
#include "executor/session/session.h"
#include "onnx_model/import.h"

namespace spillway {

// Writes those of `variables` that `session` has, which may be some only.
// Errors: those of OnnxModel::InitialValues and Session::WriteVariables.
absl::Status WriteInitialValues(const OnnxModel& model,
                                const std::vector<OnnxVariable>& variables,
                                Session& session);

}  // namespace spillway

#endif  // SPILLWAY_ONNX_MODEL_WRITE_INITIAL_VALUES_H_
