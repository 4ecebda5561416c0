// Breaks the rule on purpose, so that the check is seen to fail.
#ifndef SPILLWAY_TESTS_LAYERING_UPWARD_INCLUDE_BASE_UPWARD_H_
#define SPILLWAY_TESTS_LAYERING_UPWARD_INCLUDE_BASE_UPWARD_H_

#include "graph/graph.h"

#endif  // SPILLWAY_TESTS_LAYERING_UPWARD_INCLUDE_BASE_UPWARD_H_
