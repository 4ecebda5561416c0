#include "onnx_model/write_initial_values.h"

#include "base/status_macros.h"

namespace spillway {

absl::Status WriteInitialValues(const OnnxModel& model,
                                const std::vector<OnnxVariable>& variables,
                                Session& session) {
  std::vector<OnnxVariable> used;
  for (const OnnxVariable& variable : variables) {
    if (session.variable_types().contains(variable.name)) {
      used.push_back(variable);
    }
  }
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap values, model.InitialValues(used));
  return session.WriteVariables(values);
}

}  // namespace spillway
