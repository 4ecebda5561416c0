// Checks several programs' plans together, before they run in one arena.
#ifndef SPILLWAY_EXECUTOR_SESSION_VERIFY_RESIDENTS_H_
#define SPILLWAY_EXECUTOR_SESSION_VERIFY_RESIDENTS_H_

#include "absl/status/status.h"
#include "executor/session/plan_programs.h"

namespace spillway {

// Requires: every Variable has one offset and one type in all plans that use
// it; different Variables, and constants of different programs, share no byte;
// no plan uses a byte of any program's residents for other data; `residents`
// lists each of them once, at its place in the plans; the arenas are as large
// as the largest plans. Each plan has passed VerifyPlan. Errors: INTERNAL,
// naming the resident and the program. Cost: O(n log n) for n residents.
absl::Status VerifyResidents(const PlannedPrograms& planned);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_VERIFY_RESIDENTS_H_
