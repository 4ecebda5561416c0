// Buffers and their placement as text: one buffer per line, after a line of
// column names (docs/packing.md).
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
  bool has_gaps = false;                // the file has that column
};

// Columns, in any order: id, lower, upper, size; gaps and offset are optional,
// and offset is ignored. Fields are not quoted; blanks around them and empty
// lines are ignored. `path` names the text in errors. Errors: INVALID_ARGUMENT
// naming line and field: for a missing, unknown or repeated column, a wrong
// number of fields, an empty or repeated id, a value that is not an integer of
// at least 0, an upper that is not above lower, gaps that are not ascending
// inside the lifetime, and sizes of more than 2^60 in total.
absl::StatusOr<BufferTable> ParseBuffers(std::string_view text,
                                         std::string_view path);

// id,lower,upper,size,offset and, if the table has gaps, gaps.
std::string FormatPlacement(const BufferTable& table,
                            std::span<const int64_t> offsets);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_BUFFER_CSV_H_
