// IDX: the file format of MNIST. Big-endian: two zero bytes, element type,
// rank, `rank` 32-bit dimensions, then the elements, row-major.
//
// Source: LeCun, Cortes, Burges, "The MNIST database", file formats.
#ifndef SPILLWAY_TRAINING_DATA_IDX_H_
#define SPILLWAY_TRAINING_DATA_IDX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway {

struct IdxArray {
  std::vector<int64_t> dims;
  std::vector<uint8_t> values;
};

// Parses unsigned bytes (element type 8) of rank 1 to 4. `source` names the
// bytes in errors. Errors: INVALID_ARGUMENT with source and byte offset for a
// wrong magic number, a dimension of zero, more than 2^31 elements, missing
// bytes and trailing bytes.
absl::StatusOr<IdxArray> ParseIdx(std::string_view bytes,
                                  std::string_view source);

// The same from a file, plain or gzip. Additional errors: those of ReadFile.
absl::StatusOr<IdxArray> ReadIdxFile(const std::string& path);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_IDX_H_
