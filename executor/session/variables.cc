#include "executor/session/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/session/resident_values.h"

namespace spillway {
namespace {

void* Place(const VariableAccess& access, const BytesInArena& place) {
  Arena& arena =
      place.space == Space::kDevice ? *access.device_arena : *access.host_arena;
  return arena.Use(place.offset, place.bytes);
}

BytesInArena PlaceOf(const Resident& resident) {
  return {.space = resident.space,
          .offset = resident.offset,
          .bytes = resident.type.num_bytes()};
}

bool IsIncluded(const VariableAccess& access, const Resident& resident) {
  return access.includes_unsaved ? resident.is_variable : resident.is_state;
}

// `from` is borrowed until the stream was synchronised.
absl::Status Write(const VariableAccess& access, const Resident& resident,
                   const std::byte* from) {
  const int64_t bytes = resident.type.num_bytes();
  void* const to = Place(access, PlaceOf(resident));
  if (resident.space == Space::kDevice) {
    return access.stream->CopyToDevice(to, from, bytes);
  }
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

}  // namespace

absl::Status CopyToCaller(const VariableAccess& access,
                          const BytesInArena& from, std::byte* to) {
  const void* const bytes = Place(access, from);
  if (from.space == Space::kDevice) {
    return access.stream->CopyToHost(to, bytes, from.bytes);
  }
  if (from.bytes > 0) {
    std::memcpy(to, bytes, static_cast<size_t>(from.bytes));
  }
  return absl::OkStatus();
}

absl::Status InitializeResidents(const VariableAccess& access, uint64_t seed) {
  std::vector<std::byte> staging;
  for (const Resident& resident : access.programs->residents) {
    const int64_t bytes = resident.type.num_bytes();
    staging.resize(std::max(staging.size(), static_cast<size_t>(bytes)));
    const Graph& graph = access.programs->programs[resident.program].graph;
    SPILLWAY_RETURN_IF_ERROR(FillResident(graph, resident.node, seed,
                                          staging.data(), access.threads));
    SPILLWAY_RETURN_IF_ERROR(Write(access, resident, staging.data()));
    SPILLWAY_RETURN_IF_ERROR(access.stream->Synchronize());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, HostTensor>> CopyVariablesToHost(
    const VariableAccess& access) {
  std::map<std::string, HostTensor> values;
  absl::Status issued;
  for (const Resident& resident : access.programs->residents) {
    if (!IsIncluded(access, resident)) continue;
    HostTensor& value = values[resident.name];
    value.type = resident.type;
    value.bytes.resize(static_cast<size_t>(resident.type.num_bytes()));
    issued.Update(CopyToCaller(access, PlaceOf(resident), value.bytes.data()));
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
    if (IsIncluded(access, resident)) by_name[resident.name] = &resident;
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
    if (!IsIncluded(access, resident)) continue;
    const auto value = values.find(resident.name);
    if (value == values.end()) continue;
    issued.Update(Write(access, resident, value->second.bytes.data()));
  }
  issued.Update(access.stream->Synchronize());
  return issued;
}

}  // namespace spillway
