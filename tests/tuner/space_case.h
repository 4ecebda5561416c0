// Spaces of fates, and fates without a search.
#ifndef SPILLWAY_TESTS_TUNER_SPACE_CASE_H_
#define SPILLWAY_TESTS_TUNER_SPACE_CASE_H_

#include <random>
#include <string>

#include "tests/tuner/tuner_case.h"
#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway::testing {

// An op of any inputs, with one rule: its nodes may be computed again. They
// state their types.
OpDef ClonableOp(const std::string& name);

// The same case; its nodes of unknown ops may be computed again, except updates
// of variables.
TunerCase Clonable(TunerCase tuner_case);

// The kernels of derived nodes by the cost model, without workspaces.
DerivedKernels DerivedKernelsOf(const TunerCase& tuner_case);

// Borrows the case.
RecomputeSpace SpaceOf(const TunerCase& tuner_case);

// Of each gap: one of the fates that are possible for it, more often `kept`.
Fates SomeFates(const RecomputeSpace& space, std::mt19937_64& random);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_SPACE_CASE_H_
