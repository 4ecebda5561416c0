#include "tools/spillway/output/swap_text.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spillway {

std::string FormatClones(const CloneCounts& clones) {
  if (clones.nodes == 0) return "";
  return fmt::format("recomputed   {} nodes ({}) a step\n", clones.nodes,
                     FormatBytes(clones.bytes));
}

std::string FormatFedAgain(const SwapCounts& counts) {
  if (counts.fed_again == 0) return "";
  return fmt::format("fed again    {} tensor{} ({}) a step\n", counts.fed_again,
                     counts.fed_again == 1 ? "" : "s",
                     FormatBytes(counts.fed_again_bytes));
}

std::string FormatMeasuredSwaps(const SwapCounts& counts) {
  return fmt::format(
      "swapped      {} bytes out, {} bytes in a step ({} tensors)\n{}",
      counts.out_bytes, counts.in_bytes, counts.tensors,
      FormatFedAgain(counts));
}

}  // namespace spillway
