// The error of a step that needs more device memory than its budget.
#ifndef SPILLWAY_EXECUTOR_PLAN_MEMORY_SHORTAGE_H_
#define SPILLWAY_EXECUTOR_PLAN_MEMORY_SHORTAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace spillway {

// Parts of the message that a program with its own interface may replace: what
// to choose for more swaps and recomputation, or for nodes on the host, and
// where to look for a batch size that fits.
inline constexpr std::string_view kAutoAdvice = "LmsOptions::Auto()";
inline constexpr std::string_view kPlaceAdvice = "PlaceMode::kAuto";
inline constexpr std::string_view kFindMaxBatchHint =
    " (FindMaxBatch finds the largest that fits)";

// Bytes of device memory.
struct MemoryShortage {
  int64_t needed_bytes = 0;  // the smallest budget with these options
  int64_t budget_bytes = 0;
  int64_t floor_bytes = 0;      // executor/plan/floor.h
  std::string floor_node = {};  // empty: nothing runs
  // The tuner has tried all swaps, and recomputation, that the options allow.
  bool is_tuned = false;
  // Predicted step times, within needed_bytes and without a budget; 0: unknown.
  int64_t step_ns = 0;
  int64_t unlimited_step_ns = 0;

  friend bool operator==(const MemoryShortage&,
                         const MemoryShortage&) = default;
};

// RESOURCE_EXHAUSTED with one line that has all these numbers and a remedy.
absl::Status ShortageError(const MemoryShortage& shortage);

// For programs with an interface of their own: whether errors from now on carry
// the numbers for ShortageOf, as a payload. At first they do not, since Abseil
// prints payloads with a status. Threads: any.
void SetShortagePayloads(bool are_attached);

// The numbers of a ShortageError, however annotated; nullopt for any other
// status, and for errors that carry none.
std::optional<MemoryShortage> ShortageOf(const absl::Status& status);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_MEMORY_SHORTAGE_H_
