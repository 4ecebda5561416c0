// Lines of text about the copies of a step.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SWAP_TEXT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SWAP_TEXT_H_

#include <string>

#include "tuner/prepare_step.h"

namespace spillway {

// "fed again    1 tensor (38 MiB) a step" and a newline; "" without such feeds.
std::string FormatFedAgain(const SwapCounts& counts);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_SWAP_TEXT_H_
