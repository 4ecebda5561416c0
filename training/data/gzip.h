// Gzip (RFC 1952), through zlib.
#ifndef SPILLWAY_TRAINING_DATA_GZIP_H_
#define SPILLWAY_TRAINING_DATA_GZIP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace spillway {

bool IsGzip(std::string_view bytes);

// Decompresses one or more members. `source` names the bytes in errors. Errors:
// INVALID_ARGUMENT with source and byte offset for damaged, truncated or
// trailing bytes, and if the output would exceed `max_bytes`.
absl::StatusOr<std::string> Gunzip(std::string_view bytes,
                                   std::string_view source, int64_t max_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_GZIP_H_
