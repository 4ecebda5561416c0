#include "training/checkpoint.h"

#include <fmt/format.h>

#include <map>

#include "base/status_macros.h"
#include "training/safetensors.h"

namespace spillway {

absl::Status SaveCheckpoint(Session& session, const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap variables, session.ReadVariables());
  return WriteSafetensors(path, variables);
}

absl::Status LoadCheckpoint(const std::string& path, Session& session) {
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap tensors, ReadSafetensors(path));
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap variables, session.ReadVariables());
  for (const auto& [name, variable] : variables) {
    if (!tensors.contains(name)) {
      return InvalidArgument(
          fmt::format("{}: has no tensor for the variable {}", path, name));
    }
  }
  return Annotate(session.WriteVariables(tensors), path);
}

}  // namespace spillway
