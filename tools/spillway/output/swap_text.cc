#include "tools/spillway/output/swap_text.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/units.h"

namespace spillway {

std::string FormatClones(const CloneCounts& clones) {
  if (clones.nodes == 0) return "";
  return fmt::format("recomputed   {} ({}) a step\n",
                     Counted(clones.nodes, "node"), FormatBytes(clones.bytes));
}

std::string FormatFedAgain(const SwapCounts& counts) {
  if (counts.fed_again == 0) return "";
  return fmt::format("fed again    {} ({}) a step\n",
                     Counted(counts.fed_again, "tensor"),
                     FormatBytes(counts.fed_again_bytes));
}

std::string FormatMeasuredSwaps(const SwapCounts& counts) {
  return fmt::format("swapped      {} bytes out, {} bytes in a step ({})\n{}",
                     counts.out_bytes, counts.in_bytes,
                     Counted(counts.tensors, "tensor"), FormatFedAgain(counts));
}

}  // namespace spillway
