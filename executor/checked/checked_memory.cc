#include "executor/checked/checked_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/checked/poison.h"

namespace spillway {
namespace {

constexpr std::array kSpaces = {Space::kDevice, Space::kHost};

std::string_view SpaceName(Space space) {
  return space == Space::kDevice ? "device" : "host";
}

Interval RangeOf(const Buffer& buffer) {
  return {buffer.offset, buffer.offset + buffer.bytes};
}

// A change of one word always changes the digest; other changes do with high
// probability.
uint64_t Digest(std::span<const std::byte> bytes) {
  uint64_t digest = 0;
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t count = std::min(sizeof(word), bytes.size());
    std::memcpy(&word, bytes.data(), count);
    digest = std::rotl((digest ^ word) * 0x9E3779B97F4A7C15u, 29);
    bytes = bytes.subspan(count);
  }
  return digest;
}

}  // namespace

absl::StatusOr<CheckedMemory> CheckedMemory::Create(
    const CheckedMemorySpec& spec) {
  if (!spec.device->host_addressable()) {
    return Unimplemented(fmt::format(
        "check_memory needs a device whose memory the host can address, "
        "unlike that of {}; use the device cpu or inline",
        spec.device->name()));
  }
  CheckedMemory memory;
  memory.memories_ = {spec.device_arena->bytes(), spec.host_arena->bytes()};
  for (const Space space : kSpaces) {
    FillWith(Pattern::kVirgin, memory.memory(space));
  }
  for (const Buffer& resident : spec.residents) {
    if (resident.bytes == 0) continue;
    memory.live(resident.space)[resident.offset] = {
        .end = RangeOf(resident).end,
        .name = resident.name,
        .is_resident = true};
  }
  return memory;
}

std::span<std::byte> CheckedMemory::Part(Space space,
                                         const Interval& range) const {
  const auto size = static_cast<int64_t>(memory(space).size());
  SPILLWAY_CHECK(range.begin >= 0 && range.length() >= 0 && range.end <= size);
  return memory(space).subspan(static_cast<size_t>(range.begin),
                               static_cast<size_t>(range.length()));
}

std::span<std::byte> CheckedMemory::Bytes(const Buffer& buffer) const {
  return Part(buffer.space, RangeOf(buffer));
}

absl::Status CheckedMemory::Begin(const Buffer& buffer) {
  if (buffer.bytes == 0) return absl::OkStatus();
  const Interval range = RangeOf(buffer);
  LiveBuffers& live = this->live(buffer.space);
  const auto next = live.lower_bound(range.end);
  if (next != live.begin()) {
    const auto& [offset, other] = *std::prev(next);
    if (other.end > range.begin) {
      return Internal(fmt::format(
          "bytes [{}, {}) of {} memory are to hold {}, but {} still lives in "
          "[{}, {})",
          range.begin, range.end, SpaceName(buffer.space), buffer.name,
          other.name, offset, other.end));
    }
  }
  const absl::Status unused = CheckUnused(buffer.space, range);
  if (!unused.ok()) return Annotate(unused, buffer.name);
  live[range.begin] = {.end = range.end, .name = buffer.name};
  return absl::OkStatus();
}

void CheckedMemory::End(const Buffer& buffer) {
  if (buffer.bytes == 0) return;
  SPILLWAY_CHECK(live(buffer.space).erase(buffer.offset) == 1);
  FillWith(Pattern::kPoison, Bytes(buffer));
}

void CheckedMemory::EndAll() {
  for (const Space space : kSpaces) {
    std::erase_if(live(space), [&](const auto& entry) {
      const auto& [offset, buffer] = entry;
      if (buffer.is_resident) return false;
      FillWith(Pattern::kPoison, Part(space, {offset, buffer.end}));
      return true;
    });
  }
}

void CheckedMemory::Seal(const Buffer& buffer) {
  if (buffer.bytes == 0) return;
  const auto found = live(buffer.space).find(buffer.offset);
  SPILLWAY_CHECK(found != live(buffer.space).end());
  found->second.seal = Digest(Bytes(buffer));
}

void CheckedMemory::SealResidents() {
  for (const Space space : kSpaces) {
    for (auto& [offset, buffer] : live(space)) {
      if (!buffer.is_resident) continue;
      buffer.seal = Digest(Part(space, {offset, buffer.end}));
    }
  }
}

absl::Status CheckedMemory::CheckSealed(const Buffer& buffer) const {
  if (buffer.bytes == 0) return absl::OkStatus();
  const auto found = live(buffer.space).find(buffer.offset);
  if (found == live(buffer.space).end() ||
      found->second.end != RangeOf(buffer).end ||
      (found->second.name != buffer.name && !found->second.is_resident)) {
    return Internal("read before it was written, or after its last use");
  }
  if (Digest(Bytes(buffer)) == found->second.seal) return absl::OkStatus();
  return Internal("its bytes were changed by a step that may not write it");
}

absl::Status CheckedMemory::CheckAll() const {
  for (const Space space : kSpaces) SPILLWAY_RETURN_IF_ERROR(CheckSpace(space));
  return absl::OkStatus();
}

absl::Status CheckedMemory::CheckSpace(Space space) const {
  int64_t begin = 0;
  for (const auto& [offset, buffer] : live(space)) {
    SPILLWAY_RETURN_IF_ERROR(CheckUnused(space, {begin, offset}));
    begin = buffer.end;
    const absl::Status sealed = CheckSealed({.name = buffer.name,
                                             .space = space,
                                             .offset = offset,
                                             .bytes = buffer.end - offset});
    if (!sealed.ok()) return Annotate(sealed, buffer.name);
  }
  const auto size = static_cast<int64_t>(memory(space).size());
  return CheckUnused(space, {begin, size});
}

absl::Status CheckedMemory::CheckUnused(Space space,
                                        const Interval& range) const {
  const int64_t used = FirstUsed(Part(space, range));
  if (used == range.length()) return absl::OkStatus();
  return Internal(
      fmt::format("byte {} of {} memory (byte {} from {}) was written while "
                  "no buffer lived there",
                  range.begin + used, SpaceName(space), used, range.begin));
}

int64_t CheckedMemory::high_water_bytes(Space space) const {
  return EndOfOther(Pattern::kVirgin, memory(space));
}

}  // namespace spillway
