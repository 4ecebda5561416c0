// Lines of text about the copies of a step.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SWAP_TEXT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SWAP_TEXT_H_

#include <string>

#include "lms/report.h"
#include "tuner/prepare_step.h"

namespace spillway {

// "recomputed   54 nodes (1 GiB) a step" and a newline; "" without clones.
std::string FormatClones(const CloneCounts& clones);

// "fed again    1 tensor (38 MiB) a step" and a newline; "" without such feeds.
std::string FormatFedAgain(const SwapCounts& counts);

// "swapped      9 bytes out, 9 bytes in a step (1 tensors)" and what was fed
// again, for steps that have run.
std::string FormatMeasuredSwaps(const SwapCounts& counts);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SWAP_TEXT_H_
