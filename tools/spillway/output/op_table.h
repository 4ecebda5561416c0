// Where the time of a step goes (`profile`), as text and as JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_OP_TABLE_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_OP_TABLE_H_

#include <string>

#include "simulator/op_shares.h"
#include "tools/spillway/output/output.h"

namespace spillway {

// A line for the whole step and for each op that takes a part worth a line.
std::string FormatShares(const StepShares& shares);

// ops[]: all of them, the whole step first, as "all".
Json SharesJson(const StepShares& shares);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_OP_TABLE_H_
