#include "executor/session/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/session/resident_values.h"

namespace spillway {
namespace {

void* Place(const VariableAccess& access, const Resident& resident) {
  return access.device_arena->Use(resident.offset, resident.type.num_bytes());
}

}  // namespace

absl::Status InitializeResidents(const VariableAccess& access, uint64_t seed) {
  std::vector<std::byte> staging;
  for (const Resident& resident : access.programs->residents) {
    const int64_t bytes = resident.type.num_bytes();
    staging.resize(std::max(staging.size(), static_cast<size_t>(bytes)));
    const Graph& graph = access.programs->programs[resident.program].graph;
    SPILLWAY_RETURN_IF_ERROR(FillResident(graph, resident.node, seed,
                                          staging.data(), access.threads));
    SPILLWAY_RETURN_IF_ERROR(access.stream->CopyToDevice(
        Place(access, resident), staging.data(), bytes));
    SPILLWAY_RETURN_IF_ERROR(access.stream->Synchronize());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, HostTensor>> CopyVariablesToHost(
    const VariableAccess& access) {
  std::map<std::string, HostTensor> values;
  absl::Status issued;
  for (const Resident& resident : access.programs->residents) {
    if (!resident.is_variable) continue;
    HostTensor& value = values[resident.name];
    value.type = resident.type;
    value.bytes.resize(static_cast<size_t>(resident.type.num_bytes()));
    issued.Update(access.stream->CopyToHost(value.bytes.data(),
                                            Place(access, resident),
                                            resident.type.num_bytes()));
  }
  issued.Update(access.stream->Synchronize());
  SPILLWAY_RETURN_IF_ERROR(issued);
  return values;
}

absl::Status CheckVariableValues(
    const VariableAccess& access,
    const std::map<std::string, HostTensor>& values) {
  std::map<std::string_view, const Resident*> by_name;
  for (const Resident& resident : access.programs->residents) {
    if (resident.is_variable) by_name[resident.name] = &resident;
  }
  for (const auto& [name, value] : values) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      return InvalidArgument(fmt::format("there is no variable {}", name));
    }
    const TensorType& type = found->second->type;
    if (value.type != type) {
      return InvalidArgument(fmt::format("variable {} is {}, not {}", name,
                                         type.ToString(),
                                         value.type.ToString()));
    }
    if (static_cast<int64_t>(value.bytes.size()) != type.num_bytes()) {
      return InvalidArgument(fmt::format("variable {} has {} bytes, not {}",
                                         name, type.num_bytes(),
                                         value.bytes.size()));
    }
  }
  return absl::OkStatus();
}

absl::Status CopyVariablesToDevice(
    const VariableAccess& access,
    const std::map<std::string, HostTensor>& values) {
  absl::Status issued;
  for (const Resident& resident : access.programs->residents) {
    const auto value = values.find(resident.name);
    if (!resident.is_variable || value == values.end()) continue;
    issued.Update(access.stream->CopyToDevice(Place(access, resident),
                                              value->second.bytes.data(),
                                              resident.type.num_bytes()));
  }
  issued.Update(access.stream->Synchronize());
  return issued;
}

}  // namespace spillway
