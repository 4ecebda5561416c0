// Buffers and where they lie, as text: one a line, under a line of column names
// (docs/packing.md).
//
//   id,lower,upper,size,gaps
//   a,0,9,4096,2-4 6-7
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BUFFER_CSV_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BUFFER_CSV_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/memory/static_packing.h"

namespace spillway {

struct BufferTable {
  std::vector<std::string> ids = {};
  std::vector<PackingItem> items = {};  // by id
  bool has_gaps = false;                // there was a column for them
};

// Columns, in any order: id, lower, upper, size; gaps and offset may be left
// out, and offset is not read. Fields are not quoted; blanks around them and
// empty lines do not count. `path` names the text in errors. Errors:
// INVALID_ARGUMENT naming line and field: for a missing, unknown or repeated
// column, a wrong number of fields, an empty or repeated id, what is no integer
// of at least 0, upper not above lower, gaps that are not inside the lifetime
// and ascending, and sizes of more than 2^60 in all.
absl::StatusOr<BufferTable> ParseBuffers(std::string_view text,
                                         std::string_view path);

// id,lower,upper,size,offset and, if the table has gaps, those.
std::string FormatPlacement(const BufferTable& table,
                            std::span<const int64_t> offsets);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BUFFER_CSV_H_
