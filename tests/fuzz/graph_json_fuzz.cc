// Feeds arbitrary bytes to the graph reader. A graph that it accepts must be
// written and read back identically; other input must be refused with a Status.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "graph/format/json_format.h"
#include "ops/all_ops.h"

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph =
      spillway::ParseGraph(text, "<fuzz>", spillway::StandardOps());
  if (!graph.ok()) return 0;
  const std::string written = spillway::FormatGraph(*graph);
  const auto again =
      spillway::ParseGraph(written, "<written>", spillway::StandardOps());
  SPILLWAY_CHECK(again.ok());
  SPILLWAY_CHECK(spillway::FormatGraph(*again) == written);
  return 0;
}
